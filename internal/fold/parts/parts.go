// Package parts stores summaries that have a fragment (a Part) for each stream shard: event rollups ([Rollup]), and
// boards' histograms ([Histogram]). A merged fragment replaces many. A [Top] has the first players of a board's period. A
// [Prover] proves, by markers in the stream, that earlier writes are folded; MarkerOf is the aggregator's side of it.
//
//	store := parts.NewEvents(client, table, time.Now)
//	hour := parts.Bucket{Entity: "sensor-1", Start: start}
//	read, err := store.Read(ctx, hour.Key())
//	total := store.Sum(read)
//	_, err = store.Replace(ctx, hour.Key(), read, total, expires, nil) // into one fragment, or ErrMoved
//
// A fragment counts all records of its stream shard up to its sequence number, each once (I13). Every write of a fragment
// requires the sequence number that was read or cached, and sets another one. So folds may go on while fragments are
// replaced. A later fold fails its condition, reads the emptied fragment, skips the records up to its sequence number,
// and counts the rest from zero. An earlier fold makes Replace fail. It does not matter whether a stream shard is closed.
//
// A read during Replace may return some fragments from before it and others from after it.
package parts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

type item = dynamo.Item

// Client has the DynamoDB calls of a Store.
type Client interface {
	client.Querier
	client.Transactor
}

// Key is the location of one summary's fragments.
type Key struct {
	Partitions []string // partition keys; a fragment's is calculated from its stream shard
	Prefix     string   // of the fragments' sort keys, before the stream shard
	Target     string   // the summary's name in failures and errors
}

// keys returns the partition key and the sort key of a fragment.
func (k Key) keys(streamShard string) (pk, sk string) {
	return k.Partitions[shard.Calculated(streamShard, len(k.Partitions))], k.Prefix + streamShard
}

func (k Key) itemKey(streamShard string) item { return dynamo.Key(k.keys(streamShard)) }

// Part is a stream shard's fragment of a summary, or the merged fragment.
type Part[V any] struct {
	StreamShard string    // schema.MergedPart for the merged one
	Sequence    string    // of the last folded record; "" if there is none, or for a damaged fragment without a valid one
	AsOf        time.Time // time of the last fold, or of the last Replace for the merged fragment; zero if unknown
	ExpiresAt   int64     // Unix seconds; 0 for never
	Value       V
	Damage      error // why the fragment can't be read; nil if it can

	stored item // the item as it was read; nil if the fragment was not read
}

// Merged reports whether p is the merged fragment.
func (p Part[V]) Merged() bool { return p.StreamShard == schema.MergedPart }

// Emptied reports whether a fragment was emptied, and has only its sequence number.
func (p Part[V]) Emptied() bool { return strings.HasSuffix(p.Sequence, schema.EmptiedSuffix) }

// Expired reports whether a fragment has expired. An expired fragment counts nothing, although DynamoDB may delete it up to
// two days later.
func (p Part[V]) Expired(now time.Time) bool { return p.ExpiresAt != 0 && p.ExpiresAt <= now.Unix() }

// Counts reports whether a fragment counts any records.
func (p Part[V]) Counts(now time.Time) bool {
	return p.Damage == nil && !p.Emptied() && !p.Expired(now)
}

// rested reports whether the last fold is so long ago that no record of the fragment can be redelivered.
func (p Part[V]) rested(now time.Time) bool {
	return !p.AsOf.IsZero() && now.Sub(p.AsOf) > schema.EmptiedLifetime
}

// Same reports whether two reads returned the same fragments: nothing was folded or rewritten between them.
func Same[V any](first, second []Part[V]) bool {
	return slices.EqualFunc(first, second, func(p, q Part[V]) bool {
		return p.StreamShard == q.StreamShard && p.Sequence == q.Sequence && (p.Damage == nil) == (q.Damage == nil)
	})
}

// Damage returns an error that names the fragments that can't be read; nil if all can.
func Damage[V any](read []Part[V]) error {
	var faults []error
	for _, p := range read {
		if p.Damage != nil {
			faults = append(faults, fmt.Errorf("the fragment %q can't be read: %w", p.StreamShard, p.Damage))
		}
	}
	return errors.Join(faults...)
}

// Store reads and replaces the fragments of one kind of summary. It is safe for concurrent use.
type Store[V any] struct {
	codec  codec[V]
	client Client
	table  string
	now    func() time.Time
}

// maxParts bounds the fragments of one summary.
const maxParts = 20_000

// Read returns all fragments of a summary by strongly consistent reads: also expired, emptied and damaged ones. They are in
// the order of their stream shards, and the merged one is last.
func (s *Store[V]) Read(ctx context.Context, key Key) (list []Part[V], err error) {
	for _, pk := range key.Partitions {
		in := &dynamodb.QueryInput{
			TableName: &s.table, ConsistentRead: aws.Bool(true),
			KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :sk)"),
			ExpressionAttributeValues: item{":pk": dynamo.String(pk), ":sk": dynamo.String(key.Prefix)},
		}
		for it, err := range dynamo.Items(ctx, s.client, in) {
			if err == nil && len(list) == maxParts {
				err = fmt.Errorf("there are more than %d", maxParts)
			}
			if err != nil {
				return nil, fmt.Errorf("reading the fragments of %q: %w", key.Target, err)
			}
			part := s.codec.parse(it)
			part.StreamShard = strings.TrimPrefix(dynamo.Text(it, schema.SK), key.Prefix)
			list = append(list, part)
		}
	}
	slices.SortStableFunc(list, func(p, q Part[V]) int { return cmp.Compare(p.StreamShard, q.StreamShard) })
	return list, nil
}

// Sum returns the sum of the fragments that count.
func (s *Store[V]) Sum(read []Part[V]) (total V) {
	now := s.now()
	for _, p := range read {
		if p.Counts(now) {
			s.codec.merge(&total, p.Value)
		}
	}
	return total
}

// LatestExpiry returns the latest expiry of the fragments that count, in Unix seconds; 0 if one never expires. anyCounts is
// false if no fragment counts.
func LatestExpiry[V any](read []Part[V], now time.Time) (expires int64, anyCounts bool) {
	for _, p := range read {
		switch {
		case !p.Counts(now):
		case p.ExpiresAt == 0:
			return 0, true
		default:
			expires, anyCounts = max(expires, p.ExpiresAt), true
		}
	}
	return expires, anyCounts
}
