package rebuild

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// remaining has what exists of a bucket's events.
type remaining struct {
	n        int
	extremes parts.Extremes
	expiring bool // one has expired or soon will, so that others may be gone
}

// readEvents reads a bucket's events on all write shards that exist by now, with consistent reads. It keeps the smallest
// and largest numbers of these fields.
func (e *entity) readEvents(ctx context.Context, b parts.Bucket, fields map[string]parts.Measure) (*remaining, error) {
	most, err := e.mostShards(ctx)
	if err != nil {
		return nil, err
	}
	found := &remaining{extremes: parts.Extremes{}}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for n := range most {
		group.Go(func() error {
			for page, err := range dynamo.Pages(ctx, e.client, e.eventsOf(b, n)) {
				if err != nil {
					return fmt.Errorf("reading the events of %q, write shard %d: %w", b.Entity, n, err)
				}
				mu.Lock()
				for _, it := range page.Items {
					found.add(it, fields, e.o.Now())
				}
				mu.Unlock()
			}
			return nil
		})
	}
	return found, group.Wait()
}

// eventsOf returns the query for a bucket's events on a write shard.
func (e *entity) eventsOf(b parts.Bucket, writeShard int) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: aws.String(e.o.Names.Of(e.base.Type)), ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{
			":pk": dynamo.String(e.partitionOf(b, writeShard)), ":low": dynamo.String(b.Start.Format(schema.TimeLayout)),
			":high": dynamo.String(b.Label() + schema.MarkAfter),
		},
	}
}

// add adds an event, and ignores other items.
func (r *remaining) add(it item, fields map[string]parts.Measure, now time.Time) {
	_, id, err := schema.ParseEventSortKey(dynamo.Text(it, schema.SK))
	if err != nil {
		return
	}
	r.n++
	expires, known := dynamo.Whole(it, schema.ExpiresAt)
	r.expiring = r.expiring || known && expires-int64(schema.ExpirySpread(id)/time.Second) <= now.Add(safety).Unix()
	r.extremes.Add(numbersOf(it, fields))
}

// numbersOf returns the numbers that an event has in these fields.
func numbersOf(it item, fields map[string]parts.Measure) map[string]string {
	numbers := map[string]string{}
	data, _ := it["data"].(*types.AttributeValueMemberM)
	for field := range fields {
		if data == nil {
			break
		}
		if n, ok := data.Value[field].(*types.AttributeValueMemberN); ok {
			numbers[field] = n.Value
		}
	}
	return numbers
}

// doubt returns why a rollup may still count deleted events, or "".
func (r *remaining) doubt(sum parts.Rollup) string {
	switch {
	case sum.Restated:
		return "an event was put again with other data"
	case len(sum.Measures) >= parts.MaxMeasures && sum.Skipped != 0, len(sum.Measures) > parts.MaxFields:
		return "its events have more fields than a fragment"
	}
	return ""
}
