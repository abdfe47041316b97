// Package parts is the store of summaries that each stream shard has a part of: event
// rollups, and boards' histograms.
//
//	store := parts.NewEvents(client, table, time.Now)
//	hour := parts.Bucket{Entity: "sensor-1", Width: shard.Hour, Start: start}
//	read, err := store.Read(ctx, hour.Key())
//	total := store.Sum(read)
//	_, err = store.Replace(ctx, hour.Key(), read, total, expires, nil) // into one part, or ErrMoved
//
// A part is what its sequence number says (I13): all records of its stream shard up to
// that, each once. Whoever writes a part does so on condition of the sequence number that
// it has read, or remembers, and gives the part another one. So folds may go on while
// parts are replaced. A fold that comes after that is refused, reads the emptied part,
// skips what is at or below the sequence number and adds the rest to nothing. A fold that
// comes before makes Replace fail. No stream shard needs to be known as closed.
//
// A reader that reads while parts are replaced may see some before and others after it.
package parts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

type item = dynamo.Item

// Client is what a Store calls of DynamoDB.
type Client interface {
	dynamo.Querier
	dynamo.Transactor
}

// Key says where the parts of one summary are.
type Key struct {
	PK     string
	Prefix string // of their sort keys; what follows is the stream shard
	Target string // the summary's name in failures and errors
}

func (k Key) of(streamShard string) item { return dynamo.Key(k.PK, k.Prefix+streamShard) }

// Part is a stream shard's part of a summary, or the merged one.
type Part[V any] struct {
	StreamShard string    // schema.MergedPart for the merged one
	Sequence    string    // of the last record that was folded; "" for none, or for a damaged part without a proper one
	AsOf        time.Time // of the last fold; of the merged part, of the last Replace; zero if not known
	ExpiresAt   int64     // Unix seconds; 0 for never
	Value       V
	Damage      error // why it can't be read; nil if it can

	stored item // as it was read; nil for one that was not
}

// Merged tells the part that took over what others had.
func (p Part[V]) Merged() bool { return p.StreamShard == schema.MergedPart }

// Emptied tells whether a part has nothing beside its sequence number.
func (p Part[V]) Emptied() bool { return strings.HasSuffix(p.Sequence, schema.EmptiedSuffix) }

// Expired tells whether a part's time is over. It may be there for two days more,
// and counts for nothing then.
func (p Part[V]) Expired(now time.Time) bool { return p.ExpiresAt != 0 && p.ExpiresAt <= now.Unix() }

// Counts tells whether a part has something that counts.
func (p Part[V]) Counts(now time.Time) bool {
	return p.Damage == nil && !p.Emptied() && !p.Expired(now)
}

// rested tells whether nothing was folded for as long as a stream has its records.
func (p Part[V]) rested(now time.Time) bool {
	return !p.AsOf.IsZero() && now.Sub(p.AsOf) > schema.EmptiedLifetime
}

// Same tells whether nothing was folded, or written otherwise, between two readings.
func Same[V any](read, again []Part[V]) bool {
	return slices.EqualFunc(read, again, func(p, q Part[V]) bool {
		return p.StreamShard == q.StreamShard && p.Sequence == q.Sequence && (p.Damage == nil) == (q.Damage == nil)
	})
}

// Damage says which of the parts can't be read; nil if all can.
func Damage[V any](read []Part[V]) error {
	var faults []error
	for _, p := range read {
		if p.Damage != nil {
			faults = append(faults, fmt.Errorf("the part %q can't be read: %w", p.StreamShard, p.Damage))
		}
	}
	return errors.Join(faults...)
}

// Store reads and replaces the parts of one kind of summary. It is safe for concurrent
// use.
type Store[V any] struct {
	kind   kind[V]
	client Client
	table  string
	now    func() time.Time
}

// maxParts bounds the parts of one summary.
const maxParts = 20_000

// Read returns all parts of a summary in the order of their stream shards, the merged
// one last, by strongly consistent reads. Those that have expired, were emptied or are
// damaged are among them.
func (s *Store[V]) Read(ctx context.Context, key Key) (list []Part[V], err error) {
	in := &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :sk)"),
		ExpressionAttributeValues: item{":pk": dynamo.String(key.PK), ":sk": dynamo.String(key.Prefix)},
	}
	for it, err := range dynamo.Items(ctx, s.client, in) {
		if err == nil && len(list) == maxParts {
			err = fmt.Errorf("it has more than %d parts", maxParts)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the parts of %q: %w", key.Target, err)
		}
		part := s.kind.parse(it)
		part.StreamShard = strings.TrimPrefix(dynamo.Text(it, schema.SK), key.Prefix)
		list = append(list, part)
	}
	return list, nil
}

// Sum returns what the parts that count come to.
func (s *Store[V]) Sum(read []Part[V]) (total V) {
	now := s.now()
	for _, p := range read {
		if p.Counts(now) {
			s.kind.merge(&total, p.Value)
		}
	}
	return total
}

// Last returns when the last of the parts that count ends, 0 for never; some is false
// when none counts.
func Last[V any](read []Part[V], now time.Time) (expires int64, some bool) {
	for _, p := range read {
		switch {
		case !p.Counts(now):
		case p.ExpiresAt == 0:
			return 0, true
		default:
			expires, some = max(expires, p.ExpiresAt), true
		}
	}
	return expires, some
}
