package eventsource

import "time"

// payloadRoom is left in a payload for what is not records, in bytes.
const payloadRoom = 4 << 10

// queue are the records of a stream shard that were read and wait to be delivered, until they
// make a batch.
type queue struct {
	entries []Record
	bytes   int       // their JSON
	since   time.Time // when the first of them was read
}

// add puts records at the end that were read now.
func (q *queue) add(records []Record, now time.Time) {
	if len(q.entries) == 0 {
		q.since = now
	}
	q.entries = append(q.entries, records...)
	for _, r := range records {
		q.bytes += len(r.JSON)
	}
}

// due says that the queue makes a batch: it is long enough, or its first record has waited long
// enough.
func (q *queue) due(o *MappingOptions) bool {
	return len(q.entries) >= o.BatchSize || q.bytes >= maxPayload ||
		len(q.entries) > 0 && o.Now().Sub(q.since) >= o.BatchingWindow
}

// batch are the records at the head that go into one payload: at least one, and as many as are
// of the window that is open, nil for none, and fit beside its state.
func (q *queue) batch(w *window) []Record {
	room := maxPayload - payloadRoom
	if w != nil {
		room -= len(w.state)
	}
	for i, e := range q.entries {
		room -= len(e.JSON) + 1
		past := w != nil && !e.Created.Before(w.end)
		if i > 0 && (past || room < 0) {
			return q.entries[:i]
		}
	}
	return q.entries
}
