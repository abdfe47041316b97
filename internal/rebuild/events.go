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
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// happened has the sums of a bucket's events, as they are stored.
type happened struct {
	sum        parts.Rollup // each event once
	copies     parts.Rollup // the other copies of events that are on several write shards
	twice      []copied     // where those are, the first maxCopies
	places     []string     // partition keys that may have, or had, events
	expires    int64        // earliest expiry of any of their days, Unix seconds; 0 if none expires
	unreadable int          // events
	fault      string       // of the first unreadable event
}

// stored is an event's item on a write shard.
type stored struct {
	writeShard int
	item       item
}

// eventSums adds up the events of a bucket.
type eventSums struct {
	*bucket
	entry shardmap.Entry
	sums  []*parts.Rollup // by write shard; nil for one without events
	found *happened
}

// pageItems bounds the items that are buffered for one bucket, with a page of at least minPage for each write shard.
const (
	pageItems = 4000
	minPage   = 20
)

// readEvents sums up a bucket's events on all write shards that exist by now, with consistent
// reads: a key may grow meanwhile.
func (b *bucket) readEvents(ctx context.Context) (*happened, error) {
	entry, err := b.entryOf(ctx, schema.BaseKey{Type: schema.Event, Name: b.Entity})
	if err != nil {
		return nil, err
	}
	r := &eventSums{bucket: b, entry: entry, sums: make([]*parts.Rollup, entry.Most()), found: &happened{}}
	if err := b.eachEvent(ctx, b.Bucket, entry.Most(), r.addEvent); err != nil {
		return nil, err
	}
	for n, sum := range r.sums {
		r.found.places = append(r.found.places, placeOf(b.Bucket, n))
		if sum != nil {
			r.found.sum.Merge(*sum)
		}
	}
	return r.found, nil
}

// eachEvent calls visit for each event of a bucket, in the order of time and id. same has all copies of the event: the
// items with its sort key, on one or more write shards. eachEvent buffers a page of each write shard. It skips stream
// markers and probes.
func (t *tools) eachEvent(ctx context.Context, b parts.Bucket, shards int, visit func(same []stored)) error {
	streams := make([]*dynamo.Stream, shards)
	for n := range streams {
		streams[n] = t.stream(b, n, max(minPage, pageItems/len(streams)))
	}
	merged, err := dynamo.NewMerge(ctx, streams, false)
	if err == nil {
		merged.Ahead = true
		err = visitAll(ctx, merged, visit)
	}
	if err != nil {
		return fmt.Errorf("reading the events of %q: %w", b.Key().Target, err)
	}
	return nil
}

// placeOf returns the partition key of a bucket's events on a write shard.
func placeOf(b parts.Bucket, writeShard int) string {
	return schema.Key{
		Base:   schema.BaseKey{Type: schema.Event, Name: b.Entity},
		Bucket: schema.EventBucket.Label(b.Start), Shard: writeShard,
	}.String()
}

// stream reads the events of a write shard in the bucket's time, in pages of this size. It drops other items, as folds do.
func (t *tools) stream(b parts.Bucket, writeShard, page int) *dynamo.Stream {
	return &dynamo.Stream{Client: t.client, Sort: schema.SK, Order: writeShard, Input: &dynamodb.QueryInput{
		TableName: aws.String(t.o.Names.Of(schema.Event)), ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(page)),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{
			":pk":  dynamo.String(placeOf(b, writeShard)),
			":low": dynamo.String(b.Start.Format(schema.TimeLayout)), ":high": dynamo.String(highOf(b)),
		},
	}, Drop: func(it item) bool {
		_, _, err := schema.ParseEventSortKey(dynamo.Text(it, schema.SK))
		return err != nil
	}}
}

// highOf returns the upper bound of the sort keys of a bucket's events. Year 10000 would sort before all others.
func highOf(b parts.Bucket) string {
	if b.End().Year() > 9999 {
		return "9999-12-31T24"
	}
	return b.End().Format(schema.TimeLayout)
}

// visitAll calls visit with the copies of each event of a merge: consecutive items with one sort key. visit must not keep
// same, which is reused.
func visitAll(ctx context.Context, merged *dynamo.Merge, visit func(same []stored)) error {
	var same []stored
	for {
		next := stored{writeShard: merged.NextOrder()}
		var err error
		if next.item, err = merged.Next(ctx); err != nil {
			return err
		}
		// At the end next has no sort key, so the last event is visited, too.
		if len(same) > 0 && dynamo.Text(next.item, schema.SK) != dynamo.Text(same[0].item, schema.SK) {
			visit(same)
			same = same[:0]
		}
		if next.item == nil {
			return ctx.Err()
		}
		same = append(same, next)
	}
}

// addEvent adds an event once, as a fold does: the copy that reads return.
func (r *eventSums) addEvent(same []stored) {
	sk := dynamo.Text(same[0].item, schema.SK)
	at, id, _ := schema.ParseEventSortKey(sk) // the stream dropped others
	slices.SortFunc(same, func(s, t stored) int {
		if r.entry.Prefers(shard.Calculated, id, at, s.writeShard, t.writeShard) {
			return -1
		}
		return 1
	})
	for i, s := range same {
		if r.sums[s.writeShard] == nil {
			sum := parts.Rollup{}.Clone()
			r.sums[s.writeShard] = &sum
		}
		r.addItem(s, id, i > 0)
		if i > 0 {
			r.found.addCopy(copied{sk: sk, at: at, kept: same[0].writeShard, other: s.writeShard})
		}
	}
}

// addItem adds the item of an event. isCopy means that another copy was added. A copy that can't be read was never folded.
func (r *eventSums) addItem(s stored, id string, isCopy bool) {
	if expires, known := dynamo.Whole(s.item, schema.ExpiresAt); known {
		r.found.expires = sooner(r.found.expires, expires-int64(schema.ExpirySpread(id)/time.Second))
	}
	numbers, err := r.o.Rules.Numbers(r.Entity, s.item)
	switch {
	case err == nil && isCopy:
		one := parts.Rollup{}.Clone()
		one.Add(numbers)
		r.found.copies.Merge(one)
	case err == nil:
		r.sums[s.writeShard].Add(numbers)
	case !isCopy:
		r.found.unreadable++
		r.found.fault = cmp.Or(r.found.fault, fmt.Sprintf("the event %q, %q: %v", placeOf(r.Bucket, s.writeShard), dynamo.Text(s.item, schema.SK), err))
	}
}

func (e *happened) faults() string {
	if e.unreadable == 1 {
		return e.fault
	}
	return fmt.Sprintf("%s, and %d more", e.fault, e.unreadable-1)
}

// all returns the sum of all copies, as folds add them up, with the minima and maxima of the events that reads return:
// the removal of a copy subtracts none.
func (e *happened) all() parts.Rollup {
	all := e.sum.Clone()
	all.Merge(e.copies)
	all, _ = all.Narrow(parts.Extremes(e.sum.Measures))
	return all
}

// same reports whether two readings found the same events and copies.
func (e *happened) same(other *happened) bool {
	return other.unreadable == 0 && e.sum.Same(other.sum) && e.copies.Same(other.copies) && slices.Equal(e.twice, other.twice)
}

// total returns the figures that a rollup should have. Copies are in it, since the aggregator subtracts
// those that are removed. If the events have more fields than a fold keeps, total keeps the fields that the
// rollup has, because readers see them, and the first others by name.
func (e *happened) total(rollup parts.Rollup) parts.Rollup {
	total := e.all()
	var seen, others []string
	for _, field := range slices.Sorted(maps.Keys(total.Measures)) {
		if rollup.Measures[field].N > 0 {
			seen = append(seen, field)
		} else {
			others = append(others, field)
		}
	}
	free := max(0, parts.MaxMeasures-len(seen))
	dropped := slices.Concat(seen[min(len(seen), parts.MaxFields):], others[min(len(others), free):])
	for _, field := range dropped {
		total.Skipped += total.Measures[field].N
		delete(total.Measures, field)
	}
	return total
}

// equal reports whether a rollup has the figures of its events.
//
// If the events have more fields than a fragment keeps, their order decides which fields and
// numbers a fragment has, and the others are skipped. Then equal can only check that every number
// is in a measure or skipped.
func equal(rollup, events parts.Rollup) bool {
	if !crowded(rollup) && !crowded(events) {
		return rollup.Same(events)
	}
	return rollup.Events == events.Events && numbersIn(rollup) == numbersIn(events)
}

// crowded reports whether fields may have been left out of measures.
func crowded(p parts.Rollup) bool {
	return len(p.Measures) > parts.MaxMeasures || len(p.Measures) == parts.MaxMeasures && p.Skipped > 0
}

func numbersIn(p parts.Rollup) int64 {
	n := p.Skipped
	for _, m := range p.Measures {
		n += m.N
	}
	return n
}
