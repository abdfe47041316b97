package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// storedEvents has the sums of a bucket's stored events.
type storedEvents struct {
	sum           parts.Rollup // each event once
	copies        parts.Rollup // the other copies of events that are on several write shards
	extra         []extraCopy  // the first maxCopies of copies, with their write shards
	partitionKeys []string     // partition keys that may have, or had, events
	expires       int64        // earliest expiry of any event's day, Unix seconds; 0 if none expires
	unreadable    int          // number of unreadable events
	fault         string       // of the first unreadable event
}

// eventCopy is an event's item on a write shard.
type eventCopy struct {
	writeShard int
	item       item
}

// eventReader adds up the events of a bucket.
type eventReader struct {
	*bucket
	entry  shardmap.Entry
	sums   []*parts.Rollup // by write shard; nil for a write shard without events
	result *storedEvents
}

// pageItems bounds the items that are buffered for one bucket, with a page of at least minPage for each write shard.
const (
	pageItems = 4000
	minPage   = 20
)

// readEvents sums up a bucket's events on all write shards of the entity, with consistent reads.
func (b *bucket) readEvents(ctx context.Context) (*storedEvents, error) {
	entry, err := b.entryOf(ctx, schema.BaseKey{Type: schema.Event, Name: b.Entity})
	if err != nil {
		return nil, err
	}
	r := &eventReader{bucket: b, entry: entry, sums: make([]*parts.Rollup, entry.Most()), result: &storedEvents{}}
	if err := b.eachEvent(ctx, b.Bucket, entry.Most(), r.addEvent); err != nil {
		return nil, err
	}
	for n, sum := range r.sums {
		r.result.partitionKeys = append(r.result.partitionKeys, eventPartition(b.Bucket, n))
		if sum != nil {
			r.result.sum.Merge(*sum)
		}
	}
	return r.result, nil
}

// eachEvent calls visit for each event of a bucket, in the order of time and id, with all copies of the event: the items
// with its sort key, on one or more write shards. It buffers a page of each write shard. It skips stream markers and
// probes.
func (t *tools) eachEvent(ctx context.Context, bucket parts.Bucket, shards int, visit func(copies []eventCopy)) error {
	streams := make([]*dynamo.Stream, shards)
	for n := range streams {
		streams[n] = t.eventStream(bucket, n, max(minPage, pageItems/len(streams)))
	}
	merged, err := dynamo.NewMerge(ctx, streams, false)
	if err == nil {
		merged.Ahead = true
		err = visitEvents(ctx, merged, visit)
	}
	if err != nil {
		return fmt.Errorf("reading the events of %q: %w", bucket.Key().Target, err)
	}
	return nil
}

// eventPartition returns the partition key of a bucket's events on a write shard.
func eventPartition(b parts.Bucket, writeShard int) string {
	return schema.Key{
		Base:   schema.BaseKey{Type: schema.Event, Name: b.Entity},
		Bucket: schema.EventBucket.Label(b.Start), Shard: writeShard,
	}.String()
}

// eventStream reads the events of a write shard in the bucket's time, in pages of this size. It drops other items, as
// folds do.
func (t *tools) eventStream(bucket parts.Bucket, writeShard, page int) *dynamo.Stream {
	return &dynamo.Stream{Client: t.client, SortKey: schema.SK, Order: writeShard, Input: &dynamodb.QueryInput{
		TableName: aws.String(t.o.Names.Of(schema.Event)), ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(page)),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{
			":pk":  dynamo.String(eventPartition(bucket, writeShard)),
			":low": dynamo.String(bucket.Start.Format(schema.TimeLayout)), ":high": dynamo.String(endSortKey(bucket)),
		},
	}, Drop: func(it item) bool {
		_, _, err := schema.ParseEventSortKey(dynamo.Text(it, schema.SK))
		return err != nil
	}}
}

// endSortKey returns the upper bound of the sort keys of a bucket's events. A time in the year 10000 would sort first.
func endSortKey(b parts.Bucket) string {
	if b.End().Year() > 9999 {
		return "9999-12-31T24"
	}
	return b.End().Format(schema.TimeLayout)
}

// visitEvents calls visit with the copies of each event of a merge: consecutive items with the same sort key. It reuses the
// slice copies after the call.
func visitEvents(ctx context.Context, merged *dynamo.Merge, visit func(copies []eventCopy)) error {
	var copies []eventCopy
	for {
		next := eventCopy{writeShard: merged.NextOrder()}
		var err error
		if next.item, err = merged.Next(ctx); err != nil {
			return err
		}
		// At the end next has no sort key, so the last event is visited, too.
		if len(copies) > 0 && dynamo.Text(next.item, schema.SK) != dynamo.Text(copies[0].item, schema.SK) {
			visit(copies)
			copies = copies[:0]
		}
		if next.item == nil {
			return ctx.Err()
		}
		copies = append(copies, next)
	}
}

// addEvent adds the copy of an event that reads return to the sum of its write shard, and the other copies to the
// result's copies.
func (r *eventReader) addEvent(copies []eventCopy) {
	sk := dynamo.Text(copies[0].item, schema.SK)
	at, id, _ := schema.ParseEventSortKey(sk)          // the stream dropped others
	slices.SortFunc(copies, func(s, t eventCopy) int { // the preferred copy first
		if r.entry.Prefers(shard.Calculated, id, at, s.writeShard, t.writeShard) {
			return -1
		}
		return 1
	})
	for i, s := range copies {
		if r.sums[s.writeShard] == nil {
			sum := parts.Rollup{}.Clone()
			r.sums[s.writeShard] = &sum
		}
		r.addItem(s, id, i > 0)
		if i > 0 {
			r.result.addExtra(extraCopy{sk: sk, at: at, kept: copies[0].writeShard, other: s.writeShard})
		}
	}
}

// addItem adds the item of an event to the sum of its write shard or, if isCopy is set, to the result's copies. It
// ignores a copy that can't be read, because no fold counted it.
func (r *eventReader) addItem(event eventCopy, id string, isCopy bool) {
	if expires, known := dynamo.Whole(event.item, schema.ExpiresAt); known {
		r.result.expires = sooner(r.result.expires, expires-int64(schema.ExpirySpread(id)/time.Second))
	}
	numbers, err := fold.EventNumbers(event.item)
	switch {
	case err == nil && isCopy:
		one := parts.Rollup{}.Clone()
		one.Add(numbers)
		r.result.copies.Merge(one)
	case err == nil:
		r.sums[event.writeShard].Add(numbers)
	case !isCopy:
		r.result.unreadable++
		r.result.fault = cmp.Or(r.result.fault, fmt.Sprintf("the event %q, %q: %v", eventPartition(r.Bucket, event.writeShard), dynamo.Text(event.item, schema.SK), err))
	}
}

func (e *storedEvents) describeUnreadable() string {
	if e.unreadable == 1 {
		return e.fault
	}
	return fmt.Sprintf("%s, and %d more", e.fault, e.unreadable-1)
}

// sumWithCopies returns the sum of all events with all copies, as folds add them up. Its minima and maxima are those of
// the copies that reads return, since folding the removal of another copy does not change them.
func (e *storedEvents) sumWithCopies() parts.Rollup {
	all := e.sum.Clone()
	all.Merge(e.copies)
	all, _ = all.Narrow(parts.Extremes(e.sum.Measures))
	return all
}

// sameAs reports whether two readings found the same events and copies, and the other one found no unreadable event.
func (e *storedEvents) sameAs(other *storedEvents) bool {
	return other.unreadable == 0 && e.sum.Same(other.sum) && e.copies.Same(other.copies) && slices.Equal(e.extra, other.extra)
}

// repairedRollup returns the figures that a rollup should have. They count copies, since the aggregator subtracts the
// copies that are removed. If the events have more fields than a fragment keeps, the result has the rollup's fields,
// which readers know, and then the first of the other fields by name.
func (e *storedEvents) repairedRollup(rollup parts.Rollup) parts.Rollup {
	total := e.sumWithCopies()
	var known, others []string // fields that the rollup has, and those that it lacks
	for _, field := range slices.Sorted(maps.Keys(total.Measures)) {
		if rollup.Measures[field].N > 0 {
			known = append(known, field)
		} else {
			others = append(others, field)
		}
	}
	keptKnown := min(len(known), parts.MaxFields)
	keptOthers := min(len(others), max(0, parts.MaxMeasures-len(known)))
	dropped := slices.Concat(known[keptKnown:], others[keptOthers:])
	for _, field := range dropped {
		total.Skipped += total.Measures[field].N
		delete(total.Measures, field)
	}
	return total
}

// equal reports whether a rollup has the figures of its events. If the events have more fields than a fragment keeps, the
// fragment has those that came first, and skips the others. Then equal only checks that each number is in a measure or
// skipped.
func equal(rollup, events parts.Rollup) bool {
	if !mayLackFields(rollup) && !mayLackFields(events) {
		return rollup.Same(events)
	}
	return rollup.Events == events.Events && numbersIn(rollup) == numbersIn(events)
}

// mayLackFields reports whether a rollup may have skipped numbers of fields because it had too many fields.
func mayLackFields(p parts.Rollup) bool {
	isFull := len(p.Measures) == parts.MaxMeasures
	return isFull && p.Skipped > 0 || len(p.Measures) > parts.MaxMeasures
}

// numbersIn returns the number of numbers that a rollup counts, with the skipped ones.
func numbersIn(p parts.Rollup) int64 {
	n := p.Skipped
	for _, m := range p.Measures {
		n += m.N
	}
	return n
}
