package compact

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/rollup/scan"
	"github.com/hotshard/hotshard/internal/schema"
)

// run is one run of the task.
type run struct {
	*Compactor
	now    time.Time
	end    time.Time // by this machine's clock
	late   bool      // the end left something of the page undone
	cursor cursor
	answer Answer
}

// pages goes through the table page by page until its end or that of the run's
// time, and merges once at least if there is something to merge. A page that was not
// gone through whole is gone through again by the next run.
func (r *run) pages(ctx context.Context) error {
	for {
		started := time.Now()
		out, err := r.scan(ctx)
		if err != nil {
			return fmt.Errorf("compact: scanning the table: %w", err)
		}
		r.compact(ctx, out.Items, out.LastEvaluatedKey == nil)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("compact: it ended in the middle of a page: %w", context.Cause(ctx))
		}
		if r.late {
			return nil
		}
		r.cursor.pk, r.cursor.sk = attribute.TextOf(out.LastEvaluatedKey, schema.PK), attribute.TextOf(out.LastEvaluatedKey, schema.SK)
		if r.cursor.done = out.LastEvaluatedKey == nil; r.cursor.done {
			return nil
		}
		next := started.Add(scan.Lasts(out.ConsumedCapacity, r.options.ReadUnits))
		if !next.Before(r.end) || !scan.Wait(ctx, time.Until(next)) {
			return nil
		}
	}
}

// scan reads a page: all items, and of each what tells whether there is something
// to do.
func (r *run) scan(ctx context.Context) (*dynamodb.ScanOutput, error) {
	return r.client.Scan(ctx, &dynamodb.ScanInput{
		TableName: &r.options.RollupsTable, Limit: &r.options.PageItems, ExclusiveStartKey: r.cursor.startKey(),
		ProjectionExpression:   aws.String("pk, sk, as_of, gone, expires_at, events, skipped, restated, seq"),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
}

// compact looks for what there is to do in a page, and does it.
func (r *run) compact(ctx context.Context, page []item, last bool) {
	for _, it := range page {
		if pk := attribute.TextOf(it, schema.PK); r.buries(pk, it) {
			r.note(ctx, "removing tombstones of "+pk, r.bury(ctx, pk))
		}
	}
	found := r.sightings(page)
	for i, s := range found {
		if r.late {
			return
		}
		// Other parts of the first summary and of the last may be on other pages.
		edge := i == 0 || i == len(found)-1 && !last
		if s.resting > 0 && (edge || s.resting+s.merged > 1) {
			r.note(ctx, "merging parts of "+s.of.String(), s.of.merge(ctx, r))
		}
	}
}

// note counts and logs what failed; the end of the run is said by itself.
func (r *run) note(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	r.answer.Failed++
	r.log.WarnContext(ctx, "not compacted: "+what, "error", err)
}

// sighting is what a page has of a summary.
type sighting struct {
	of              summary
	resting, merged int // parts that hold something
}

// sightings gathers the parts of a page by summary. The parts of one come after each
// other.
func (r *run) sightings(page []item) []*sighting {
	var list []*sighting
	for _, it := range page {
		of, streamShard, ok := r.partOf(it)
		if !ok {
			continue
		}
		if len(list) == 0 || list[len(list)-1].of != of {
			list = append(list, &sighting{of: of})
		}
		s := list[len(list)-1]
		switch {
		case !holds(it) || expired(it, r.now):
		case streamShard == schema.MergedPart:
			s.merged++
		case r.partRests(of, it):
			s.resting++
		}
	}
	return list
}

// partOf returns of which summary an item is a part.
func (r *run) partOf(it item) (of summary, streamShard string, ok bool) {
	if s, streamShard, ok := standingOf(attribute.TextOf(it, schema.PK), attribute.TextOf(it, schema.SK)); ok {
		return s, streamShard, true
	}
	b, streamShard, ok := bucketOf(it)
	return rollup{b}, streamShard, ok
}

func (r *run) partRests(of summary, part item) bool {
	at, known := attribute.TimeOf(part, schema.AsOf)
	if b, ok := of.(rollup); ok {
		return r.resting(b.Bucket, at, known)
	}
	return known && r.now.Sub(at) > rest
}

// holds tells whether a part has more than its sequence number: an event rollup's
// says so, and a histogram's was not emptied.
func holds(part item) bool {
	if strings.HasPrefix(attribute.TextOf(part, schema.SK), schema.HistogramPrefix) {
		return !strings.HasSuffix(attribute.TextOf(part, schema.RollupSequence), schema.EmptiedSuffix)
	}
	events, _ := attribute.WholeOf(part, schema.RollupEvents)
	return events > 0 || part[schema.RollupSkipped] != nil || part[schema.RollupRestated] != nil
}

func expired(part item, now time.Time) bool {
	at, ok := attribute.WholeOf(part, schema.ExpiresAt)
	return ok && at <= now.Unix()
}

func bucketOf(it item) (b parts.Bucket, streamShard string, ok bool) {
	pk := attribute.TextOf(it, schema.PK)
	if !strings.HasPrefix(pk, schema.BaseKey{Type: schema.Entity}.String()) {
		return b, "", false
	}
	var err error
	if b.Entity, _, err = schema.ParseRollupPartition(pk); err != nil {
		return b, "", false
	}
	b.Width, b.Start, streamShard, err = schema.ParseRollupSortKey(attribute.TextOf(it, schema.SK))
	return b, streamShard, err == nil
}

// resting tells whether nothing was folded into a part for long. Older releases did
// not note when that was: their parts rest a day longer from the bucket's end.
func (r *run) resting(b parts.Bucket, asOf time.Time, known bool) bool {
	if !known {
		asOf = b.End().Add(24 * time.Hour)
	}
	return r.now.Sub(asOf) > rest
}
