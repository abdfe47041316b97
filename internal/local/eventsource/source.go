package eventsource

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// Source is a stream as a Mapping reads it. OpenStream gives a table's own; tests
// wrap one in a virtualstream, which spreads its records over more stream shards.
type Source interface {
	// ARN names the stream. Mappings with one ARN read one stream.
	ARN() string
	// Shards lists the stream shards, those that are closed too for as long as
	// their records can be read. A bounded number, in any order.
	Shards(ctx context.Context) ([]StreamShard, error)
	// Open returns a reader of a stream shard's records after a sequence number,
	// which the stream shard must have given; "" starts at the oldest record.
	Open(shard, after string) Reader
}

// StreamShard is a shard of a stream.
type StreamShard struct {
	ID     string
	Parent string // is read before this one, if it is listed; "" for none
}

// Reader is a position in a stream shard. It is used by one goroutine.
type Reader interface {
	// Next returns the next records, limit at most, and moves behind them. None
	// means that there are none now. closed says that there will be no more.
	// After an error the position is as before.
	Next(ctx context.Context, limit int) (records []Record, closed bool, err error)
}

// Record is one change of an item.
type Record struct {
	// Change is as the stream gave it, and is not altered. Its Dynamodb part
	// is never nil.
	Change types.Record
	// Created is when the change was made, to the second.
	Created time.Time
}

// Sequence is the record's sequence number: unique in its stream shard, and
// increasing.
func (r Record) Sequence() string { return aws.ToString(r.Change.Dynamodb.SequenceNumber) }
