package eventsource

import (
	"context"
	"time"
)

// Source is the stream that a Mapping reads. OpenStream returns a table's stream. Tests wrap it in a stream that spreads
// its records over more stream shards.
type Source interface {
	// ARN names the stream. Mappings with one ARN read one stream.
	ARN() string
	// Shards lists the stream shards in any order, including closed ones whose records
	// can still be read. Their number is bounded.
	Shards(ctx context.Context) ([]Shard, error)
	// Open returns a reader of a stream shard's records after a sequence number of that
	// stream shard. "" starts at the oldest record.
	Open(shard, after string) Reader
}

// Reader is a position in a stream shard. It is used by one goroutine.
type Reader interface {
	// Next returns at most limit records and advances the position past them. It returns no records if there are none
	// yet. closed reports that no more will follow. An error leaves the position unchanged.
	Next(ctx context.Context, limit int) (records []Record, closed bool, err error)
}

// Record is one change of an item.
type Record struct {
	Sequence string    // unique in its stream shard, and increasing
	Created  time.Time // when the change was made, to the second
	JSON     []byte    // the record in Lambda's event; encoded once, so it is the same at each delivery
}
