package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// happened has the sums of a bucket's events, as they are stored.
type happened struct {
	sum        measures.Part
	places     []string // partition keys that have events
	expires    int64    // earliest expiry of any of their days, Unix seconds; 0 if none expires
	unreadable int      // events
	fault      string   // of the first unreadable event
}

// readEvents sums up a bucket's events on all write shards that exist by now, with consistent
// reads: a key may grow meanwhile. Stream markers and the controller's probes don't count.
func (b *bucket) readEvents(ctx context.Context) (*happened, error) {
	most, err := b.mostShards(ctx, schema.BaseKey{Type: kind.Event, Name: b.Entity})
	if err != nil {
		return nil, err
	}
	all := &happened{sum: measures.Part{}.Clone()}
	var mu sync.Mutex
	err = eachOf(ctx, most, func(ctx context.Context, n int) error {
		pk := placeOf(b.Bucket, n)
		found, err := b.readPlace(ctx, pk)
		if err != nil {
			return fmt.Errorf("reading the events of %q: %w", pk, err)
		}
		mu.Lock()
		defer mu.Unlock()
		all.merge(found)
		return nil
	})
	slices.Sort(all.places)
	return all, err
}

// placeOf returns the partition key of a bucket's events on a write shard.
func placeOf(b parts.Bucket, writeShard int) string {
	return schema.Key{
		Base:   schema.BaseKey{Type: kind.Event, Name: b.Entity},
		Bucket: schema.EventBucket.Label(b.Start, 0), Shard: writeShard,
	}.String()
}

// readPlace sums up a partition's events in the bucket's time, with consistent reads.
func (b *bucket) readPlace(ctx context.Context, pk string) (found *happened, err error) {
	found = &happened{sum: measures.Part{}.Clone()}
	in := &dynamodb.QueryInput{
		TableName: aws.String(b.o.Names.Of(kind.Event)), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{
			":pk": dynamo.String(pk), ":low": dynamo.String(b.Start.Format(schema.TimeLayout)), ":high": dynamo.String(highOf(b.Bucket)),
		},
	}
	for it, err := range dynamo.Items(ctx, b.client, in) {
		if err != nil {
			return nil, err
		}
		b.addItem(found, pk, it)
	}
	if found.sum.Events > 0 || found.unreadable > 0 {
		found.places = []string{pk}
	}
	return found, nil
}

// highOf returns the upper bound of the sort keys of a bucket's events. Year 10000 would sort before all others.
func highOf(b parts.Bucket) string {
	if b.End().Year() > 9999 {
		return "9999-12-31T24"
	}
	return b.End().Format(schema.TimeLayout)
}

// addItem adds an event, as a fold does. It ignores other items, as folds do.
func (b *bucket) addItem(found *happened, pk string, it item) {
	sk := dynamo.Text(it, schema.SK)
	_, id, err := schema.ParseEventSortKey(sk)
	if err != nil {
		return
	}
	var numbers map[string]string
	if !b.o.Gone {
		numbers, err = b.o.Rules.Numbers(b.Entity, it)
	}
	if err != nil {
		found.unreadable++
		found.fault = cmp.Or(found.fault, fmt.Sprintf("the event %q, %q: %v", pk, sk, err))
		return
	}
	found.sum.Add(numbers)
	if expires, known := dynamo.Whole(it, schema.ExpiresAt); known {
		found.expires = sooner(found.expires, expires-int64(schema.ExpirySpread(id)/time.Second))
	}
}

func (e *happened) faults() string {
	if e.unreadable == 1 {
		return e.fault
	}
	return fmt.Sprintf("%s, and %d more", e.fault, e.unreadable-1)
}

func (e *happened) merge(other *happened) {
	e.sum.Merge(other.sum)
	e.places = append(e.places, other.places...)
	e.unreadable += other.unreadable
	e.fault = cmp.Or(e.fault, other.fault)
	e.expires = sooner(e.expires, other.expires)
}

// total returns the figures that a rollup should have. If the events have more fields than a fold
// keeps, the rollup's fields stay, so that readers keep seeing them, and then the first by name.
func (e *happened) total(rollup measures.Part) measures.Part {
	total := e.sum.Clone()
	var seen, others []string
	for _, field := range slices.Sorted(maps.Keys(total.Measures)) {
		if rollup.Measures[field].N > 0 {
			seen = append(seen, field)
		} else {
			others = append(others, field)
		}
	}
	free := max(0, measures.MaxMeasures-len(seen))
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
func equal(rollup, events measures.Part) bool {
	if !crowded(rollup) && !crowded(events) {
		return rollup.Same(events)
	}
	return rollup.Events == events.Events && numbersIn(rollup) == numbersIn(events)
}

// crowded reports whether fields may have been left out of measures.
func crowded(p measures.Part) bool {
	return len(p.Measures) > measures.MaxMeasures || len(p.Measures) == measures.MaxMeasures && p.Skipped > 0
}

func numbersIn(p measures.Part) int64 {
	n := p.Skipped
	for _, m := range p.Measures {
		n += m.N
	}
	return n
}
