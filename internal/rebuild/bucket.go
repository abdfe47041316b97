package rebuild

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// events checks event rollups, bucket by bucket.
type events struct{ *tools }

func (e *events) check(ctx context.Context, target schema.Target) (Result, error) {
	b := &bucket{events: e, Bucket: parts.BucketFor(target)}
	if e.tooOld(b.Bucket) {
		return oneFinding(TooOld, ""), nil
	}
	result, err := checkWithProof(ctx, e.tools, b)
	result.Items = b.items
	return result, err
}

// safety is how long before its expiry an item counts as deleted.
const safety = 10 * time.Minute

const oneDay = 24 * time.Hour

// oldest returns the time before which events may have been deleted; zero if events are kept for ever. Days that end before
// this time are not checked.
func (e *events) oldest() time.Time {
	if e.o.EventRetention == 0 {
		return time.Time{}
	}
	return e.o.Now().Add(safety - e.o.EventRetention)
}

// tooOld reports whether the rollup of a bucket, or some of its events, may be deleted already. The events of a day
// begin to expire one retention after the day's end.
func (e *events) tooOld(b parts.Bucket) bool {
	endOfDay, rollupExpiry := b.Start.Truncate(oneDay).Add(oneDay), b.End().Add(e.o.RollupRetention)
	rollupExpired := e.o.RollupRetention > 0 && !rollupExpiry.After(e.o.Now())
	return rollupExpired || !endOfDay.After(e.oldest())
}

// readFragments returns the fragments of a rollup, or an error if any of them can't be read.
func (e *events) readFragments(ctx context.Context, b parts.Bucket) (read []parts.Part[parts.Rollup], err error) {
	read, err = e.rollups.Read(ctx, b.Key())
	if err == nil {
		err = parts.Damage(read)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the rollup %q: %w", b.Key().Target, err)
	}
	return read, nil
}

// maxBuckets bounds the buckets of one entity that one check covers.
const maxBuckets = 100_000

// targets returns the whole hours of an entity in a range. A zero From is the oldest day that can be checked, and a
// zero To is the end of the current hour.
func (e *events) targets(entity string, bounds Range) ([]schema.Target, error) {
	if !e.o.Rollups {
		return nil, fmt.Errorf("the events of %q are not rolled up: set HOTSHARD_ROLLUPS as the aggregator has it", entity)
	}
	if bounds.From.IsZero() && e.o.EventRetention == 0 {
		return nil, fmt.Errorf("events of %q are kept for ever: say with --from where the check starts", entity)
	}
	if bounds.From.IsZero() {
		bounds.From = e.oldest().Truncate(oneDay)
	}
	if bounds.To.IsZero() {
		bounds.To = e.o.Now().UTC().Truncate(time.Hour).Add(time.Hour)
	}
	start := bounds.From.UTC().Add(time.Hour - 1).Truncate(time.Hour) // rounded up
	if n := bounds.To.Sub(start) / time.Hour; n > maxBuckets {
		return nil, fmt.Errorf("entity %q: %d hours from %s to %s: check at most %d at a time", entity, n, bounds.From.Format(time.DateOnly), bounds.To.Format(time.DateOnly), maxBuckets)
	}
	var list []schema.Target
	for ; !start.Add(time.Hour).After(bounds.To); start = start.Add(time.Hour) {
		list = append(list, parts.Bucket{Entity: entity, Start: start}.Target())
	}
	return list, nil
}

// bucket is an event rollup that is checked.
type bucket struct {
	*events
	parts.Bucket
	items int64 // events at the last reading
}

// comparison is one reading of a rollup, and then of its events. In this order the rollup counts no event that is not read.
type comparison struct {
	fragments []parts.Part[parts.Rollup]
	rollup    parts.Rollup
	events    *storedEvents
}

// state returns how a rollup differs from its events: Fewer, Copy or Wrong.
func (c *comparison) state() State {
	switch {
	case c.events.sumWithCopies().Events < c.rollup.Events:
		return Fewer
	case len(c.events.extra) > 0:
		return Copy
	}
	return Wrong
}

func (c *comparison) finding() Result {
	f := Finding{State: c.state(), Summary: figuresOfEvents(c.rollup), Items: figuresOfEvents(c.events.sum)}
	if len(c.events.extra) > 0 {
		f.Detail = c.events.describeExtra()
	}
	return Result{Findings: []Finding{f}}
}

const (
	maxRounds = 6         // how often the check of one target is repeated, if the target changes during it
	foldLag   = time.Hour // how long after a bucket's end folds are expected
)

// retryLimit returns the state Open for a bucket that is current, or ended less than an hour ago, and otherwise Busy.
func (b *bucket) retryLimit() (rounds int, state State) {
	if b.End().Add(foldLag).After(b.o.Now()) {
		return maxRounds, Open
	}
	return maxRounds, Busy
}

func (b *bucket) readAll(ctx context.Context) (read *comparison, err error) {
	read = &comparison{}
	if read.fragments, err = b.readFragments(ctx, b.Bucket); err != nil {
		return nil, err
	}
	read.rollup = b.rollups.Sum(read.fragments)
	if read.events, err = b.readEvents(ctx); err != nil {
		return nil, err
	}
	b.items = read.events.sum.Events
	return read, nil
}

// resultWithoutProof returns the result of a comparison that needs no proof; done is false if the rollup differs from
// the events, or a repair has to remove copies.
func (b *bucket) resultWithoutProof(read *comparison) (r Result, done bool) {
	switch {
	case read.events.unreadable > 0:
		return oneFinding(Unreadable, read.events.describeUnreadable()), true
	case expiresSoon(read.events.expires, b.o.Now()):
		return oneFinding(TooOld, "an event has expired, so that others may be deleted"), true
	case len(read.events.extra) > 0 && !b.o.Repair:
		return read.finding(), true
	}
	return Result{}, len(read.events.extra) == 0 && equal(read.rollup, read.events.sum)
}

func (b *bucket) prove(ctx context.Context, first *comparison) (parts.Proof, error) {
	return b.prover.ProveEvents(ctx, b.Bucket, first.events.partitionKeys)
}

// unchanged reports whether two readings found the same fragments and the same events. Events must not change, since a
// repair counts all events before the markers as folded.
func (b *bucket) unchanged(first, second *comparison) bool {
	return parts.Same(first.fragments, second.fragments) && first.events.sameAs(second.events)
}

// repair returns how a rollup at rest differs from its events, and repairs it if the options allow a repair.
func (b *bucket) repair(ctx context.Context, second *comparison, watermarks map[string]string) (result Result, err error) {
	result = second.finding()
	f := &result.Findings[0]
	needsLower := f.State == Fewer
	if !b.o.Repair || needsLower && !b.o.Lower {
		return result, nil
	}
	if !equal(second.rollup, second.events.sumWithCopies()) {
		repaired := second.events.repairedRollup(second.rollup)
		expires := b.Expiry(second.fragments, b.o.RollupRetention, b.o.Now())
		_, err = b.rollups.Replace(ctx, b.Key(), second.fragments, repaired, expires, watermarks)
	}
	if err == nil {
		f.Repaired, err = b.removeCopies(ctx, second.events)
	}
	return result, err
}
