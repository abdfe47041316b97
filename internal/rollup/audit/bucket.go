package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/rollup/partial"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// safety is how long before their expiry events no longer pass for complete.
const safety = 10 * time.Minute

const oneDay = 24 * time.Hour

// oldest is the time before which events, or rollups, may have been deleted: days
// that it does not leave whole are refused. It is zero if all are kept for ever.
func (a *Auditor) oldest() time.Time {
	if a.o.EventRetention == 0 {
		return time.Time{}
	}
	return a.o.Now().Add(safety - a.o.EventRetention)
}

// tooOld tells whether some of what belongs to a bucket may be deleted already. The
// events of a day begin to expire at its end and their retention.
func (a *Auditor) tooOld(b parts.Bucket) bool {
	events := !b.Start.Truncate(oneDay).Add(oneDay).After(a.oldest())
	rollup := a.o.RollupRetention > 0 && !b.End().Add(a.o.RollupRetention).After(a.o.Now())
	return events || rollup
}

// comparison is a rollup and its events. The rollup was read first, so that it has
// nothing of an event that was not read.
type comparison struct {
	read   []parts.Part
	rollup partial.Partial
	events *events
}

// state says how a rollup differs from its events.
func (c *comparison) state() State {
	switch {
	case c.events.sum.Events < c.rollup.Events:
		return Fewer
	case c.rollup.Restated:
		return Restated
	}
	return Wrong
}

// whyFewer is what there may be to an event rollup that has more events than items.
const whyFewer = "events were deleted or have expired, or the rollup counted some twice"

func (c *comparison) finding() Result {
	f := Finding{State: c.state(), Summary: figuresOfEvents(c.rollup), Items: figuresOfEvents(c.events.sum)}
	if f.State == Fewer {
		f.Detail = whyFewer
	}
	return Result{[]Finding{f}}
}

// bucket audits an event rollup: it looks once for folds that are on their way, and
// then for proof. It starts over when the rollup has changed.
func (a *Auditor) bucket(ctx context.Context, b parts.Bucket) (Result, error) {
	if a.tooOld(b) {
		return finding(TooOld, ""), nil
	}
	for round := range 1 + maxRounds {
		if round > 0 {
			if err := a.pause(ctx); err != nil {
				return Result{}, err
			}
		}
		result, again, err := a.bucketOnce(ctx, b, round > 0 || a.o.Wait == 0)
		if err != nil || !again {
			return result, err
		}
	}
	state := Busy
	if b.End().Add(lately).After(a.o.Now()) {
		state = Open
	}
	return finding(state, fmt.Sprintf("it changed each of %d times it was looked at", maxRounds)), nil
}

// lately is how long after its end a bucket is mostly folded into still.
const lately = time.Hour

// bucketOnce compares a rollup with its events, and repairs it. What differs without
// prove, or has changed, is to be looked at again.
func (a *Auditor) bucketOnce(ctx context.Context, b parts.Bucket, prove bool) (result Result, again bool, err error) {
	c, err := a.compare(ctx, b)
	if err != nil {
		return a.notRead(err)
	}
	switch {
	case c.events.unreadable > 0:
		return finding(Unreadable, c.events.faults()), false, nil
	case c.events.expired(a.o.Now()):
		return finding(TooOld, "an event has expired, so that others may be deleted"), false, nil
	case c.rollup.Restated && !a.o.Repair:
		return c.finding(), false, nil
	case !c.rollup.Restated && equal(c.rollup, c.events.sum):
		return Result{}, false, nil
	case !prove:
		return Result{}, true, nil
	}
	floors, why, err := a.settle(ctx, b, c.events.places)
	switch {
	case err != nil:
		return Result{}, false, err
	case why != "":
		return finding(Unsettled, why), false, nil
	}
	now, err := a.compare(ctx, b)
	if err != nil {
		return a.notRead(err)
	}
	if !c.same(now) {
		return Result{}, true, nil
	}
	return a.repairBucket(ctx, b, c, floors)
}

func (e *events) faults() string {
	if e.unreadable == 1 {
		return e.fault
	}
	return fmt.Sprintf("%s, and %d more", e.fault, e.unreadable-1)
}

func (a *Auditor) compare(ctx context.Context, b parts.Bucket) (c *comparison, err error) {
	c = &comparison{}
	if c.read, err = a.store.Read(ctx, b); err != nil {
		return nil, err
	}
	for _, p := range c.read {
		if !p.Expired(a.o.Now()) {
			c.rollup.Merge(p.Partial)
		}
	}
	entry, err := a.shards.Read(ctx, schema.BaseKey{Type: schema.Entity, Name: b.Entity}.String())
	if err != nil {
		return nil, fmt.Errorf("the shard map: %w", err)
	}
	c.events, err = a.readEvents(ctx, b, entry.Most())
	return c, err
}

// same tells whether no part has been folded into, come or gone since, and the same
// events are there. Both matter: no fold may ever take an event that was written
// meanwhile, and a repair says of all events before the marks that it has them.
func (c *comparison) same(now *comparison) bool {
	return slices.EqualFunc(now.read, c.read, func(p, q parts.Part) bool {
		return p.StreamShard == q.StreamShard && p.Sequence == q.Sequence
	}) && now.events.unreadable == 0 && identical(now.events.sum, c.events.sum)
}

// repairBucket takes care of a rollup that is at rest and differs from its events.
func (a *Auditor) repairBucket(ctx context.Context, b parts.Bucket, c *comparison, floors map[string]string) (result Result, again bool, err error) {
	result = c.finding()
	f := &result.Findings[0]
	other, err := a.inOtherWidth(ctx, b)
	if err != nil {
		return a.notRead(err)
	}
	if other != "" {
		f.State, f.Detail = Mixed, "there is also a rollup of "+other
		return result, false, nil
	}
	if !a.o.Repair || f.State == Fewer && !a.o.Fewer {
		return result, false, nil
	}
	_, err = a.store.Replace(ctx, b, c.read, c.events.total(c.rollup), floors)
	switch {
	case errors.Is(err, parts.ErrMoved):
		return Result{}, true, nil
	case err != nil && !ofCall(err):
		return finding(Failed, err.Error()), false, nil
	}
	f.Repaired = err == nil
	return result, false, err
}

// inOtherWidth names a rollup that shares time with a bucket and is of the other
// width, "" if there is none: after a change of the rules, some of the events may
// be there.
func (a *Auditor) inOtherWidth(ctx context.Context, b parts.Bucket) (string, error) {
	others := []parts.Bucket{{Entity: b.Entity, Width: shard.Day, Start: b.Start.Truncate(oneDay)}}
	if b.Width == shard.Day {
		others = nil
		for start := b.Start; start.Before(b.End()); start = start.Add(time.Hour) {
			others = append(others, parts.Bucket{Entity: b.Entity, Width: shard.Hour, Start: start})
		}
	}
	for _, o := range others {
		read, err := a.store.Read(ctx, o)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(read, func(p parts.Part) bool { return p.Events > 0 && !p.Expired(a.o.Now()) }) {
			return o.Width.Label(o.Start, 0), nil
		}
	}
	return "", nil
}
