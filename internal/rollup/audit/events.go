package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// events are what a bucket's items come to.
type events struct {
	sum        partial.Partial
	places     []string // partition keys that have some
	expires    int64    // the first expiry that any of their days has, Unix seconds; 0 for none
	unreadable int      // events
	fault      string   // the first of those
}

// readEvents reads a bucket's events on so many write shards, consistently. What an
// audit or the controller has put among them does not count.
func (a *Auditor) readEvents(ctx context.Context, b parts.Bucket, writeShards int) (*events, error) {
	all := &events{sum: partial.Partial{}.Clone()}
	var mu sync.Mutex
	err := a.eachPlace(ctx, b, writeShards, func(ctx context.Context, pk string) error {
		found := &events{sum: partial.Partial{}.Clone()}
		if err := a.readPlace(ctx, b, pk, func(it item) { a.take(found, b.Entity, pk, it) }); err != nil {
			return err
		}
		if found.sum.Events > 0 || found.unreadable > 0 {
			found.places = []string{pk}
		}
		mu.Lock()
		defer mu.Unlock()
		all.merge(found)
		return nil
	})
	slices.Sort(all.places)
	return all, err
}

// eachPlace does something for the partition keys of a bucket on so many write shards,
// some at a time.
func (a *Auditor) eachPlace(ctx context.Context, b parts.Bucket, writeShards int, do func(ctx context.Context, pk string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for n := range writeShards {
		group.Go(func() error {
			pk := placeOf(b, n)
			if err := do(ctx, pk); err != nil {
				return fmt.Errorf("reading the events of %q: %w", pk, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// placeOf is the partition key of a bucket's events on a write shard.
func placeOf(b parts.Bucket, writeShard int) string {
	return schema.Key{
		Base:   schema.BaseKey{Type: schema.Entity, Name: b.Entity},
		Bucket: schema.EventBucket.Label(b.Start, 0), Shard: writeShard,
	}.String()
}

// readPlace reads what a partition has in a bucket's time, consistently.
func (a *Auditor) readPlace(ctx context.Context, b parts.Bucket, pk string, seen func(item)) error {
	pages := dynamodb.NewQueryPaginator(a.client, &dynamodb.QueryInput{
		TableName: &a.o.Names.Items, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{
			":pk":   &types.AttributeValueMemberS{Value: pk},
			":low":  &types.AttributeValueMemberS{Value: b.Start.Format(schema.TimeLayout)},
			":high": &types.AttributeValueMemberS{Value: highOf(b)},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, it := range page.Items {
			seen(it)
		}
	}
	return nil
}

// highOf is what no sort key of a bucket's events reaches. The end of the year 9999 has
// five digits for its year, and would sort before all others.
func highOf(b parts.Bucket) string {
	if b.End().Year() > 9999 {
		return "9999-12-31T24"
	}
	return b.End().Format(schema.TimeLayout)
}

// take adds an event, as a fold would. Other items are passed over, as they are by
// folds.
func (a *Auditor) take(found *events, entity, pk string, it item) {
	sk := attribute.TextOf(it, schema.SK)
	_, id, err := schema.ParseEventSortKey(sk)
	if err != nil {
		return
	}
	numbers, err := a.o.Rules.Numbers(entity, it)
	if err != nil {
		if found.unreadable++; found.fault == "" {
			found.fault = fmt.Sprintf("the event %q, %q: %v", pk, sk, err)
		}
		return
	}
	found.sum.Add(numbers)
	if n, ok := it[schema.ExpiresAt].(*types.AttributeValueMemberN); ok {
		if at, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			found.expire(at - int64(schema.ExpirySpread(id)/time.Second))
		}
	}
}

// expire takes in when the first of those may have expired that were written on the same
// day as an event.
func (e *events) expire(at int64) {
	if e.expires == 0 || at < e.expires {
		e.expires = at
	}
}

func (e *events) merge(other *events) {
	e.sum.Merge(other.sum)
	e.places = append(e.places, other.places...)
	e.unreadable += other.unreadable
	e.fault = cmp.Or(e.fault, other.fault)
	if other.expires != 0 {
		e.expire(other.expires)
	}
}

// expired tells whether an event's time is over, or soon is. Others may have been
// deleted then.
func (e *events) expired(now time.Time) bool {
	return e.expires != 0 && e.expires <= now.Add(safety).Unix()
}

// total is what a rollup should have. Of more fields than a fold keeps, those that
// the rollup has come first and stay, so that readers go on seeing them, and then the
// first by name.
func (e *events) total(rollup partial.Partial) partial.Partial {
	total := e.sum.Clone()
	fields := slices.Sorted(maps.Keys(total.Measures))
	seen := func(field string) bool { return rollup.Measures[field].N > 0 }
	slices.SortStableFunc(fields, func(x, y string) int {
		switch {
		case seen(x) == seen(y):
			return 0
		case seen(x):
			return -1
		}
		return 1
	})
	kept := 0
	for kept < len(fields) && kept < parts.MaxFields && (kept < partial.MaxMeasures || seen(fields[kept])) {
		kept++
	}
	for _, field := range fields[kept:] {
		total.Skipped += total.Measures[field].N
		delete(total.Measures, field)
	}
	return total
}

// equal compares what a rollup has with what its events come to.
//
// Where there are more fields than a part keeps, it depends on the order of the
// events which of them a part has, and which numbers of theirs it took; the others are
// skipped. Then all numbers must be in measures or skipped, and no more can be told.
func equal(rollup, events partial.Partial) bool {
	if rollup.Events != events.Events {
		return false
	}
	if !crowded(rollup) && !crowded(events) {
		return rollup.Skipped == events.Skipped && maps.EqualFunc(rollup.Measures, events.Measures, same)
	}
	return numbersIn(rollup) == numbersIn(events)
}

// identical compares what the same events come to.
func identical(p, q partial.Partial) bool {
	return p.Events == q.Events && p.Skipped == q.Skipped && maps.EqualFunc(p.Measures, q.Measures, same)
}

func same(m, n partial.Measure) bool {
	return m.N == n.N && m.Sum.Cmp(n.Sum) == 0 && m.Min.Cmp(n.Min) == 0 && m.Max.Cmp(n.Max) == 0
}

// crowded tells whether fields may have been left out of measures.
func crowded(p partial.Partial) bool {
	return len(p.Measures) > partial.MaxMeasures || len(p.Measures) == partial.MaxMeasures && p.Skipped > 0
}

func numbersIn(p partial.Partial) int64 {
	n := p.Skipped
	for _, m := range p.Measures {
		n += m.N
	}
	return n
}
