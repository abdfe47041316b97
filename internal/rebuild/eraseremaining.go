package rebuild

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// remainingEvents has what a reading found of a bucket's events.
type remainingEvents struct {
	count    int            // number of items; each copy of an event counts
	extremes parts.Extremes // smallest and largest numbers by field
	expiring bool           // an event has expired or soon will, so that others may be deleted already
}

// readEvents reads a bucket's events on all write shards of the entity, with consistent reads. The result has the
// extremes of these fields.
func (e *entityTraces) readEvents(ctx context.Context, bucket parts.Bucket, fields map[string]parts.Measure) (*remainingEvents, error) {
	entry, err := e.entryOf(ctx, e.base)
	if err != nil {
		return nil, err
	}
	found := &remainingEvents{extremes: parts.Extremes{}}
	return found, e.eachEvent(ctx, bucket, entry.Most(), func(copies []eventCopy) {
		for _, c := range copies {
			found.add(c.item, fields, e.o.Now())
		}
	})
}

func (r *remainingEvents) add(it item, fields map[string]parts.Measure, now time.Time) {
	_, id, _ := schema.ParseEventSortKey(dynamo.Text(it, schema.SK)) // eachEvent drops other items
	r.count++
	expires, known := dynamo.Whole(it, schema.ExpiresAt)
	r.expiring = r.expiring || known && expiresSoon(expires-int64(schema.ExpirySpread(id)/time.Second), now)
	r.extremes.Add(numbersOf(it, fields))
}

// numbersOf returns the numbers that an event has in these fields.
func numbersOf(it item, fields map[string]parts.Measure) map[string]string {
	numbers := map[string]string{}
	data, _ := it["data"].(*types.AttributeValueMemberM)
	if data == nil {
		return numbers
	}
	for field := range fields {
		if n, ok := data.Value[field].(*types.AttributeValueMemberN); ok {
			numbers[field] = n.Value
		}
	}
	return numbers
}

// crowdedSum reports whether a rollup may lack fields of its events. Then it may still count deleted events.
func crowdedSum(sum parts.Rollup) bool {
	fields := len(sum.Measures)
	hasSkippedFields := fields >= parts.MaxMeasures && sum.Skipped != 0
	return hasSkippedFields || fields > parts.MaxFields
}
