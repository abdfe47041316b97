package query

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
	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// maxBuckets bounds the buckets of one answer.
const maxBuckets = 1000

const oneDay = 24 * time.Hour

type rollupsInput struct {
	Entity httpapi.Name         `query:"entity" required:"true" example:"sensor-1"`
	From   httpapi.Time         `query:"from" doc:"RFC 3339; the first bucket contains it. Default: as for events, but at most 1,000 buckets"`
	To     httpapi.Time         `query:"to" doc:"RFC 3339; the last bucket starts before it. Default: now"`
	Every  httpapi.DurationText `query:"every" default:"1h" example:"6h" doc:"Length of a bucket: whole hours that divide a day"`
}

type rollupAnswer struct {
	Start    string                   `json:"start" format:"date-time" doc:"Start of the bucket"`
	Count    int64                    `json:"count" doc:"Number of events"`
	Measures map[string]measureAnswer `json:"measures" doc:"Keyed by top-level field of the events' data"`
	Skipped  int64                    `json:"skipped,omitempty" doc:"Number of numbers in the events that the measures lack: with more than 15 digits or decimal places, above 1e15, or of a field with a long name or beyond the 20th"`
}

type measureAnswer struct {
	Count int64       `json:"count" doc:"Number of events with this field"`
	Sum   exactNumber `json:"sum" doc:"Sum of the numbers"`
	Min   exactNumber `json:"min" doc:"The smallest number"`
	Max   exactNumber `json:"max" doc:"The largest number"`
	Avg   exactNumber `json:"avg" doc:"Average, to 15 decimal places"`
}

// exactNumber is a number with all its digits.
type exactNumber struct{ parts.Decimal }

// Schema describes the number in the OpenAPI document.
func (exactNumber) Schema(huma.Registry) *huma.Schema {
	return httpapi.NumberSchema("With all its digits")
}

type rollupsOutput struct {
	Body struct {
		Rollups []rollupAnswer `json:"rollups" doc:"Buckets with events, sorted by time"`
	}
}

// rollupReader reads event rollups.
type rollupReader struct {
	client    client.Querier
	table     string
	span      time.Duration // length of a range without a start
	retention time.Duration // how long rollups are kept; 0 for ever
}

// listRollups returns the rollups of a range, summed over all stream shards. Its reads are eventually consistent.
func (r *rollupReader) listRollups(ctx context.Context, in *rollupsInput, now time.Time) (*rollupsOutput, error) {
	buckets, err := r.rangeOf(in, now)
	if err != nil {
		return nil, err
	}
	if err := r.addFragments(ctx, string(in.Entity), buckets); err != nil {
		return nil, err
	}
	out := &rollupsOutput{}
	out.Body.Rollups = buckets.rollups()
	if weight, err := httpapi.WeightOf(out.Body); err != nil || weight > httpapi.MaxAnswer {
		return nil, cmp.Or(err, httpapi.InvalidAt("query.from", "the range's rollups are more than 5 MB: ask for fewer buckets at a time", httpapi.FormatTime(buckets.from)))
	}
	return out, nil
}

// bucketRange is a range of whole buckets, and the sums of their rollups.
type bucketRange struct {
	from, to time.Time
	every    time.Duration
	now      time.Time
	oldest   time.Time // buckets that ended earlier have expired, although fragments of them may exist

	mu   sync.Mutex
	sums map[time.Time]*parts.Rollup // by start
}

// rangeOf validates the parameters, and returns the range with its defaults.
func (r *rollupReader) rangeOf(in *rollupsInput, now time.Time) (*bucketRange, error) {
	every, fault := in.Every.Within(time.Hour, oneDay, time.Hour)
	if fault == "" && oneDay%every != 0 {
		fault = "it must be 1h, 2h, 3h, 4h, 6h, 8h, 12h or 1d"
	}
	if fault != "" {
		return nil, httpapi.InvalidAt("query.every", fault, in.Every)
	}
	if !in.From.IsZero() && !in.To.IsZero() && in.To.Before(in.From.Time) {
		return nil, httpapi.InvalidAt("query.to", "it is before from", httpapi.FormatTime(in.To.Time))
	}
	from, to := in.From.Time, clampTime(in.To.Time, now)
	if in.To.IsZero() {
		to = now.Add(maxAhead)
	}
	to = to.UTC().Add(every - 1).Truncate(every) // rounded up
	if in.From.IsZero() {
		from = heat.MaxTime(defaultFrom(in.To, now, r.span), to.Add(-maxBuckets*every))
	}
	from = heat.MaxTime(from, epoch).UTC().Truncate(every)
	if to.Sub(from) > maxBuckets*every {
		return nil, httpapi.InvalidAt("query.from", fmt.Sprintf("the range has more than %d buckets: ask for a shorter range or longer buckets", maxBuckets), httpapi.FormatTime(in.From.Time))
	}
	buckets := &bucketRange{from: from, to: to, every: every, now: now, sums: map[time.Time]*parts.Rollup{}}
	if r.retention > 0 {
		buckets.oldest = now.Add(-r.retention)
	}
	return buckets, nil
}

// maxRollupReads bounds the concurrent reads of rollup partitions.
const maxRollupReads = 16

// addFragments adds the fragments of all stream shards to the range's sums.
func (r *rollupReader) addFragments(ctx context.Context, entity string, buckets *bucketRange) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRollupReads)
	for _, pk := range schema.RollupPartitions(entity, buckets.from, buckets.to) {
		group.Go(func() error {
			if err := r.readPartition(ctx, pk, buckets); err != nil {
				return fmt.Errorf("reading the rollups table's partition %q: %w", pk, dynamo.Classify(err))
			}
			return nil
		})
	}
	return group.Wait()
}

// readPartition adds the fragments of one partition of the rollups table.
func (r *rollupReader) readPartition(ctx context.Context, pk string, buckets *bucketRange) error {
	low, high := schema.RollupSortBounds(buckets.from, buckets.to)
	items := dynamo.Items(ctx, r.client, &dynamodb.QueryInput{
		TableName:              &r.table,
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: dynamo.Item{
			":pk": dynamo.String(pk), ":low": dynamo.String(low), ":high": dynamo.String(high),
		},
	})
	for item, err := range items {
		if err != nil {
			return err
		}
		if err := buckets.addFragment(item); err != nil {
			return err
		}
	}
	return nil
}

// addFragment adds one stream shard's fragment of a rollup if it has not expired.
func (b *bucketRange) addFragment(item dynamo.Item) error {
	sk := dynamo.Text(item, schema.SK)
	start, _, err := schema.ParseRollupSortKey(sk)
	if err != nil {
		return err
	}
	expired := !b.oldest.IsZero() && !start.Add(time.Hour).After(b.oldest)
	if expired {
		return nil
	}
	part, err := parts.RollupPart(item, b.now)
	if err != nil {
		return fmt.Errorf("reading the fragment %q: %w", sk, err)
	}
	if part == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	start = start.Truncate(b.every)
	if b.sums[start] == nil {
		b.sums[start] = &parts.Rollup{}
	}
	b.sums[start].Merge(part.Value)
	return nil
}

// rollups returns the sums of buckets that have events, sorted by time.
func (b *bucketRange) rollups() []rollupAnswer {
	list := []rollupAnswer{}
	for _, start := range slices.SortedFunc(maps.Keys(b.sums), time.Time.Compare) {
		sum := b.sums[start]
		if sum.Events <= 0 {
			continue // its events were deleted
		}
		measures := map[string]measureAnswer{}
		for field, m := range sum.Measures {
			if m.N > 0 {
				measures[field] = measureAnswer{m.N, exactNumber{m.Sum}, exactNumber{m.Min}, exactNumber{m.Max}, exactNumber{m.Avg()}}
			}
		}
		list = append(list, rollupAnswer{httpapi.FormatTime(start), sum.Events, measures, max(0, sum.Skipped)})
	}
	return list
}
