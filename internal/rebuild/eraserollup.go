package rebuild

import (
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
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// Bounds of cleaning rollups.
const (
	maxCleanedDays = 8   // days that are cleaned at a time
	maxAttempts    = 20  // attempts to clean a rollup that changes
	maxMerges      = 500 // transactions that merge one rollup
)

type fragments = []parts.Part[parts.Rollup]

// cleanDay cleans a day's rollups, after all deletes are folded.
func (e *entityTraces) cleanDay(ctx context.Context, day time.Time) error {
	buckets, err := e.bucketsOf(ctx, day)
	if err != nil {
		return err
	}
	for _, b := range buckets {
		if err := e.cleanRollup(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// bucketsOf returns the buckets of a day whose rollups have fragments that are not emptied.
func (e *entityTraces) bucketsOf(ctx context.Context, day time.Time) (list []parts.Bucket, err error) {
	pk, _ := schema.RollupKey(e.base.Name, day, "")
	low, high := schema.RollupSortBounds(day, day.Add(oneDay))
	in := &dynamodb.QueryInput{
		TableName: &e.o.Names.Rollups, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{":pk": dynamo.String(pk), ":low": dynamo.String(low), ":high": dynamo.String(high)},
	}
	for it, err := range dynamo.Items(ctx, e.client, in) {
		if err != nil {
			return nil, fmt.Errorf("reading the rollups of %q from %s: %w", pk, low, err)
		}
		b, _, ok := parts.BucketOf(pk, dynamo.Text(it, schema.SK))
		isEmptied := strings.HasSuffix(dynamo.Text(it, schema.RollupSequence), schema.EmptiedSuffix)
		if ok && !isEmptied && !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	return list, nil
}

// cleanRollup empties a rollup without events. If there are events, it corrects the rollup's minima and maxima; its counts
// and sums are right.
func (e *entityTraces) cleanRollup(ctx context.Context, bucket parts.Bucket) error {
	var found *remainingEvents
	outcome, err := e.repeat(ctx, maxAttempts, Busy, func(int) (r Result, err error) {
		found, err = e.tryCleanRollup(ctx, bucket)
		return r, err
	})
	e.keptEvents(bucket, found)
	if !outcome.Right() { // Busy
		e.reportLeft("the rollup of %s changed during each of %d readings: run the delete again while less is written", bucket.Label(), maxAttempts)
	}
	return err
}

// tryCleanRollup makes one attempt of cleanRollup, and returns the events that it read; nil if the rollup can't be read. It
// returns parts.ErrMoved after a concurrent fold or merge. It reads the fragments before the events: if it then finds no
// event, the fragments count only deleted events.
func (e *entityTraces) tryCleanRollup(ctx context.Context, bucket parts.Bucket) (found *remainingEvents, err error) {
	read, err := e.rollups.Read(ctx, bucket.Key())
	if err != nil {
		return nil, err
	}
	if damage := parts.Damage(read); damage != nil {
		e.reportLeft("the rollup of %s: %s", bucket.Label(), damage)
		return nil, nil
	}
	sum := e.rollups.Sum(read)
	if found, err = e.readEvents(ctx, bucket, sum.Measures); err != nil {
		return nil, err
	}
	switch {
	case !slices.ContainsFunc(read, func(p parts.Part[parts.Rollup]) bool { return p.Counts(e.o.Now()) }):
	case found.count == 0:
		if _, err = e.rollups.Replace(ctx, bucket.Key(), read, parts.Rollup{}, 0, nil); err == nil {
			e.countDeleted(Summaries, 1)
		}
	case found.expiring:
		e.reportLeft("the rollup of %s may count expired events: run the delete again when all its events have expired", bucket.Label())
	case crowdedSum(sum):
		e.leaveInexact(bucket, "its events have more fields than a fragment")
	default:
		if _, changed := sum.Narrow(found.extremes); changed {
			found, err = e.narrowExtremes(ctx, bucket)
		}
	}
	return found, err
}

// narrowExtremes sets a rollup's minima and maxima to those of the events that exist, and returns these events. First it
// moves all counts into the merged fragment, into which nothing is folded. So events that are folded during the read of
// the events have their numbers in other fragments.
func (e *entityTraces) narrowExtremes(ctx context.Context, bucket parts.Bucket) (found *remainingEvents, err error) {
	merged, err := e.mergeFragments(ctx, bucket)
	if err != nil {
		return nil, err
	}
	if found, err = e.readEvents(ctx, bucket, merged.Value.Measures); err != nil {
		return nil, err
	}
	if narrowed, changed := merged.Value.Narrow(found.extremes); changed {
		_, err = e.rollups.Replace(ctx, bucket.Key(), fragments{merged}, narrowed, merged.ExpiresAt, nil)
	}
	return found, err
}

// mergeFragments moves the counts of a rollup's fragments into the merged fragment, and returns that. After a
// transaction that a fold made fail, the next transactions move fewer fragments. It moves each fragment once, and
// leaves later folds there. After maxMerges transactions it returns parts.ErrMoved.
func (e *entityTraces) mergeFragments(ctx context.Context, bucket parts.Bucket) (merged parts.Part[parts.Rollup], err error) {
	moved, size := map[string]bool{}, parts.MaxReplaced // stream shards; most fragments of a transaction
	for range maxMerges {
		read, err := e.rollups.Read(ctx, bucket.Key())
		if err != nil {
			return merged, err
		}
		chosen := fragments{}
		for _, p := range read {
			switch {
			case p.Merged():
				merged = p
				chosen = append(chosen, p)
			case p.Counts(e.o.Now()) && !moved[p.StreamShard] && len(chosen) < size:
				chosen = append(chosen, p)
			}
		}
		if !slices.ContainsFunc(chosen, func(p parts.Part[parts.Rollup]) bool { return !p.Merged() }) {
			return merged, nil
		}
		expires, _ := parts.LatestExpiry(chosen, e.o.Now())
		switch _, _, err := e.rollups.Merge(ctx, bucket.Key(), read, chosen, expires); {
		case errors.Is(err, parts.ErrMoved):
			size = max(1, size/2)
			continue
		case err != nil:
			return merged, err
		}
		for _, p := range chosen {
			moved[p.StreamShard] = true
		}
	}
	return merged, parts.ErrMoved
}

// leaveInexact reports, with the command, that only a repair can make a rollup right.
func (e *entityTraces) leaveInexact(b parts.Bucket, why string) {
	from, to := b.Start.Format(time.RFC3339), b.End().Format(time.RFC3339)
	command := e.options.Commands.Line("check", "--repair", "--lower", "--type", string(schema.Event), "--name", b.Entity, "--from", from, "--to", to)
	e.reportLeftForRepair("the rollup of %s may count deleted events, because %s: once that hour is over, %s", b.Label(), why, command)
}

// keptEvents reports that events of a bucket were kept, if there are any; found may be nil.
func (e *entityTraces) keptEvents(b parts.Bucket, found *remainingEvents) {
	if found != nil && found.count > 0 {
		e.reportKept("%s of %s, written meanwhile: %d", Events, b.Key().Target, found.count)
	}
}
