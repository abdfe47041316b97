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
	"github.com/hotshard/hotshard/pkg/shard"
)

// Bounds of cleaning rollups.
const (
	maxCleanedDays = 8   // days at a time
	maxAttempts    = 20  // readings of a rollup that changes
	maxMerges      = 500 // transactions for one rollup
)

// fragments are the fragments of a rollup.
type fragments = []parts.Part[parts.Rollup]

// cleanDay cleans a day's rollups, after all deletes are folded.
func (e *entity) cleanDay(ctx context.Context, day time.Time) error {
	buckets, err := e.bucketsOf(ctx, day)
	if err != nil {
		return err
	}
	mixed := slices.ContainsFunc(buckets, func(b parts.Bucket) bool { return b.Width != buckets[0].Width })
	if mixed { // folds of deletes subtracted only from rollups of the newest rule's width
		whole := parts.Bucket{Entity: e.base.Name, Width: shard.Day, Start: day}
		found, err := e.readEvents(ctx, whole, nil)
		if err != nil {
			return err
		}
		if found.n > 0 {
			e.keptEvents(whole, found)
			e.leaveInexact(whole, "it is in hours and in days")
			return nil
		}
	}
	for _, b := range buckets {
		if err := e.cleanRollup(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// bucketsOf returns the buckets of a day whose rollups have fragments that are not emptied.
func (e *entity) bucketsOf(ctx context.Context, day time.Time) (list []parts.Bucket, err error) {
	pk, sk := schema.RollupKey(e.base.Name, shard.Day, day, "")
	in := &dynamodb.QueryInput{
		TableName: &e.o.Names.Rollups, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :day)"),
		ExpressionAttributeValues: item{":pk": dynamo.String(pk), ":day": dynamo.String(sk[:len(sk)-1])},
	}
	for it, err := range dynamo.Items(ctx, e.client, in) {
		if err != nil {
			return nil, fmt.Errorf("reading the rollups of %q, %s: %w", pk, sk, err)
		}
		b, _, ok := parts.BucketOf(pk, dynamo.Text(it, schema.SK))
		if ok && !strings.HasSuffix(dynamo.Text(it, schema.RollupSequence), schema.EmptiedSuffix) && !slices.Contains(list, b) {
			list = append(list, b)
		}
	}
	return list, nil
}

// cleanRollup empties a rollup without events. If there are events, it corrects the rollup's minima and maxima; its counts
// and sums are right.
func (e *entity) cleanRollup(ctx context.Context, bucket parts.Bucket) error {
	var found *remainingEvents
	busy, err := e.repeat(ctx, maxAttempts, Busy, func(int) (r Result, err error) {
		found, err = e.tryCleanRollup(ctx, bucket)
		return r, err
	})
	e.keptEvents(bucket, found)
	if !busy.Right() {
		e.left("the rollup of %s changed during each of %d readings: run the delete again while less is written", bucket.Label(), maxAttempts)
	}
	return err
}

// tryCleanRollup makes one attempt of cleanRollup, and returns the events that it read. It returns parts.ErrMoved after a
// concurrent fold or merge. It reads the fragments first: if there are no events then, all that they count is deleted.
func (e *entity) tryCleanRollup(ctx context.Context, bucket parts.Bucket) (found *remainingEvents, err error) {
	read, err := e.rollups.Read(ctx, bucket.Key())
	if err != nil {
		return nil, err
	}
	if damage := parts.Damage(read); damage != nil {
		e.left("the rollup of %s: %s", bucket.Label(), damage)
		return nil, nil
	}
	sum := e.rollups.Sum(read)
	if found, err = e.readEvents(ctx, bucket, sum.Measures); err != nil {
		return nil, err
	}
	switch {
	case !slices.ContainsFunc(read, func(p parts.Part[parts.Rollup]) bool { return p.Counts(e.o.Now()) }):
	case found.n == 0:
		if _, err = e.rollups.Replace(ctx, bucket.Key(), read, parts.Rollup{}, 0, nil); err == nil {
			e.deleted(Summaries, 1)
		}
	case found.expiring:
		e.left("the rollup of %s may count expired events: run the delete again when all its events have expired", bucket.Label())
	case crowdedSum(sum):
		e.leaveInexact(bucket, "its events have more fields than a fragment")
	default:
		if _, changed := sum.Narrow(found.extremes); changed {
			found, err = e.narrowExtremes(ctx, bucket)
		}
	}
	return found, err
}

// narrowExtremes gives a rollup the minima and maxima of the events that exist, while folds go on. First it moves all
// fragments into the merged fragment, into which nothing is folded. So the read of the events may take its time: events
// that are folded meanwhile have their numbers in other fragments.
func (e *entity) narrowExtremes(ctx context.Context, bucket parts.Bucket) (found *remainingEvents, err error) {
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

// mergeFragments moves the counts of a rollup's fragments into the merged fragment, and returns it. If a fold makes a
// transaction fail, the next transactions move fewer fragments. What is folded into a fragment after its move stays there.
func (e *entity) mergeFragments(ctx context.Context, bucket parts.Bucket) (merged parts.Part[parts.Rollup], err error) {
	moved, size := map[string]bool{}, parts.MaxReplaced
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

// leaveInexact adds a rollup that only a repair can make right to the report's Left.
func (e *entity) leaveInexact(b parts.Bucket, why string) {
	e.leftForRepair("the rollup of %s may count deleted events, because %s: once that %s is over, %s",
		b.Label(), why, b.Width, e.options.Commands.Line("check", "--repair", "--lower", "--type", string(schema.Event), "--name", b.Entity, "--from", b.Start.Format(time.RFC3339), "--to", b.End().Format(time.RFC3339)))
}

func (e *entity) keptEvents(b parts.Bucket, found *remainingEvents) {
	if found != nil && found.n > 0 {
		e.kept("%s of %s, written meanwhile: %d", Events, b.Key().Target, found.n)
	}
}
