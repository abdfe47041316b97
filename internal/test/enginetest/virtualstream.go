package enginetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// virtualStream spreads the records of each stream shard of a base over n stream shards, by a hash of their partition key.
// It has the guarantees of DynamoDB Streams, and no others:
//
//   - a record is in one stream shard, once, and the records of an item are in
//     order, also from a stream shard on into its child;
//   - records of different partition keys have no order between stream shards;
//   - sequence numbers are unique in a stream shard and increase there.
//
// The order between stream shards is up to their readers, as it is in Lambda. Each reader reads the whole base and skips
// other stream shards' records, so n stream shards cost n times the reads.
type virtualStream struct {
	eventsource.Source
	n int
}

// Shards implements [eventsource.Source].
func (v virtualStream) Shards(ctx context.Context) (list []eventsource.Shard, err error) {
	bases, err := v.Source.Shards(ctx)
	for _, base := range bases {
		for i := range v.n {
			shard := eventsource.Shard{ID: fmt.Sprintf("%s-v%04d", base.ID, i)}
			if base.Parent != "" {
				shard.Parent = fmt.Sprintf("%s-v%04d", base.Parent, i)
			}
			list = append(list, shard)
		}
	}
	return list, err
}

// Open implements [eventsource.Source]. Sequence numbers are those of the base.
func (v virtualStream) Open(id, after string) eventsource.Reader {
	at := strings.LastIndex(id, "-v")
	return &virtualReader{v.Source.Open(id[:at], after), id[at:], v.n}
}

type virtualReader struct {
	eventsource.Reader
	suffix string // of the stream shard
	n      int
}

// Next implements [eventsource.Reader]. It skips pages that have only other stream shards'
// records, because an empty page would mean that there are none.
func (r *virtualReader) Next(ctx context.Context, limit int) ([]eventsource.Record, bool, error) {
	for {
		page, closed, err := r.Reader.Next(ctx, limit)
		if err != nil {
			return nil, false, err
		}
		own := slices.DeleteFunc(slices.Clone(page), func(record eventsource.Record) bool {
			return fmt.Sprintf("-v%04d", hash(record.JSON)%uint64(r.n)) != r.suffix
		})
		if closed || len(own) > 0 || len(page) == 0 {
			return own, closed, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
	}
}

// hash returns a hash of the partition key of a record, the same on every machine.
func hash(record []byte) uint64 {
	var r struct {
		Dynamodb struct{ Keys map[string]json.RawMessage }
	}
	if err := json.Unmarshal(record, &r); err != nil {
		panic(fmt.Sprintf("virtual stream: a record of the base is no JSON: %v", err))
	}
	sum := sha256.Sum256(r.Dynamodb.Keys["pk"])
	return binary.BigEndian.Uint64(sum[:])
}
