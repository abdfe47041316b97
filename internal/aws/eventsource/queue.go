package eventsource

import "time"

// payloadReserve is the part of a payload, in bytes, that is reserved for other fields than records.
const payloadReserve = 4 << 10

// queue has the records of a stream shard that were read and wait until they make a batch.
type queue struct {
	entries []Record
	bytes   int       // total length of the records' JSON
	since   time.Time // when the first record was read
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

// isDue reports whether the queue makes a batch: it has BatchSize records or a full payload, or its
// first record has waited for BatchingWindow.
func (q *queue) isDue(o *MappingOptions) bool {
	waited := len(q.entries) > 0 && o.Now().Sub(q.since) >= o.BatchingWindow
	return len(q.entries) >= o.BatchSize || q.bytes >= maxPayload || waited
}

// nextBatch returns the first records, at least one, that fit into one payload beside the open window's state. They end
// before the first record that was created after the window; open may be nil.
func (q *queue) nextBatch(open *window) []Record {
	left := maxPayload - payloadReserve
	if open != nil {
		left -= len(open.state)
	}
	for i, e := range q.entries {
		left -= len(e.JSON) + 1
		afterWindow := open != nil && !e.Created.Before(open.end)
		if i > 0 && (afterWindow || left < 0) {
			return q.entries[:i]
		}
	}
	return q.entries
}
