package fold

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// compaction is one run of the task.
type compaction struct {
	*compactor
	now       time.Time
	end       time.Time // by this machine's clock
	outOfTime bool      // the run ended before the page was done
	cursor    cursor
	answer    compactAnswer
}

// scanPages compacts the summaries of each page of the table, until the end of the table or of the run. The next run
// repeats an unfinished page.
func (r *compaction) scanPages(ctx context.Context) error {
	in := &dynamodb.ScanInput{
		TableName: &r.table, Limit: &r.pageItems, ExclusiveStartKey: r.cursor.startKey(),
		ProjectionExpression:   aws.String("pk, sk, as_of, gone, expires_at, seq"),
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
	started := time.Now()
	for page, err := range dynamo.ScanPages(ctx, r.client, in) {
		if err != nil {
			return fmt.Errorf("scanning the rollups table for the compaction: %w", err)
		}
		isLast := len(page.LastEvaluatedKey) == 0
		r.compactPage(ctx, page.Items, isLast)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the compaction ran out of time in the middle of a page, which the next run repeats: %w", context.Cause(ctx))
		}
		if r.outOfTime {
			return nil
		}
		r.cursor.FromPK, r.cursor.FromSK = dynamo.Text(page.LastEvaluatedKey, schema.PK), dynamo.Text(page.LastEvaluatedKey, schema.SK)
		r.cursor.Done = isLast
		next := started.Add(dynamo.CapacityTime(page.ConsumedCapacity, r.readUnits))
		if isLast || !next.Before(r.end) || dynamo.WaitFor(ctx, time.Until(next)) != nil {
			return nil
		}
		started = time.Now()
	}
	return nil
}

// compactPage merges the fragments of a page's summaries, and removes tombstones.
func (r *compaction) compactPage(ctx context.Context, page []item, isLastPage bool) {
	for _, it := range page {
		if pk := dynamo.Text(it, schema.PK); r.removable(pk, it) {
			r.noteFailure(ctx, "removing tombstones of "+pk, r.removeTombstones(ctx, pk))
		}
	}
	found := r.fragmentsOf(page)
	for i, s := range found {
		if r.outOfTime {
			return
		}
		goesOn := i == len(found)-1 && !isLastPage
		onOtherPages := i == 0 || goesOn || len(s.summary.Key().Partitions) > 1
		if s.mayMerge(onOtherPages) {
			r.noteFailure(ctx, "merging fragments of "+s.summary.Key().Target, s.summary.merge(ctx, r))
		}
	}
}

// mayMerge reports whether a summary may have several fragments to merge, so that it must be read. onOtherPages means that
// it may have fragments on other pages.
func (s *pageFragments) mayMerge(onOtherPages bool) bool {
	return s.resting > 0 && (onOtherPages || s.resting+s.merged > 1)
}

// noteFailure logs and counts a failure. It ignores the end of the run, which scanPages reports.
func (r *compaction) noteFailure(ctx context.Context, what string, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	r.answer.Failed++
	r.log.WarnContext(ctx, "not compacted: "+what, "error", err)
}

// pageFragments has the numbers of a summary's fragments on a page.
type pageFragments struct {
	summary mergeable
	resting int // resting fragments, except the merged one
	merged  int // merged fragments
}

// fragmentsOf groups the fragments of a page by summary. Those of one summary are adjacent. It counts no fragment that
// is emptied, expired or, unless it is merged, recent.
func (r *compaction) fragmentsOf(page []item) []*pageFragments {
	var list []*pageFragments
	for _, it := range page {
		summary, streamShard, ok := mergeableOf(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK))
		if !ok {
			continue
		}
		if len(list) == 0 || list[len(list)-1].summary != summary {
			list = append(list, &pageFragments{summary: summary})
		}
		s := list[len(list)-1]
		at, known := dynamo.Millis(it, schema.AsOf)
		switch {
		case strings.HasSuffix(dynamo.Text(it, schema.RollupSequence), schema.EmptiedSuffix) || dynamo.Expired(it, r.now):
		case streamShard == schema.MergedPart:
			s.merged++
		case known && r.rests(at):
			s.resting++
		}
	}
	return list
}
