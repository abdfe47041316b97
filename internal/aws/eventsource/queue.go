package eventsource

import "time"

// payloadReserve is the part of a payload, in bytes, that is reserved for other fields than
// records.
const payloadReserve = 4 << 10

// queue has the records of a stream shard that were read and wait until they make a batch.
type queue struct {
	entries []Record
	bytes   int       // of their JSON
	since   time.Time // when the first of them was read
}

// add appends records that were read at now.
func (q *queue) add(records []Record, now time.Time) {
	if len(q.entries) == 0 {
		q.since = now
	}
	q.entries = append(q.entries, records...)
	for _, r := range records {
		q.bytes += len(r.JSON)
	}
}

// due reports whether the queue makes a batch: it has BatchSize records or a full payload, or its
// first record has waited for BatchingWindow.
func (q *queue) due(o *MappingOptions) bool {
	return len(q.entries) >= o.BatchSize || q.bytes >= maxPayload ||
		len(q.entries) > 0 && o.Now().Sub(q.since) >= o.BatchingWindow
}

// batch returns the first records, at least one, that go into one payload. With an open window w,
// which may be nil, they belong to it and fit beside its state.
func (q *queue) batch(w *window) []Record {
	left := maxPayload - payloadReserve
	if w != nil {
		left -= len(w.state)
	}
	for i, e := range q.entries {
		left -= len(e.JSON) + 1
		past := w != nil && !e.Created.Before(w.end)
		if i > 0 && (past || left < 0) {
			return q.entries[:i]
		}
	}
	return q.entries
}
