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
// events of a day expire together, at its end and their retention.
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

func (c *comparison) finding(state State) Result {
	return Result{[]Finding{{State: state, Summary: figuresOfEvents(c.rollup), Items: figuresOfEvents(c.events.sum)}}}
}

// bucket audits an event rollup. It starts over when the rollup has changed.
func (a *Auditor) bucket(ctx context.Context, b parts.Bucket) (Result, error) {
	if a.tooOld(b) {
		return finding(TooOld, ""), nil
	}
	for range maxRounds {
		result, again, err := a.bucketOnce(ctx, b)
		if err != nil || !again {
			return result, err
		}
	}
	return finding(Busy, fmt.Sprintf("it changed each of %d times it was looked at", maxRounds)), nil
}

func (a *Auditor) bucketOnce(ctx context.Context, b parts.Bucket) (result Result, again bool, err error) {
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
		return c.finding(Restated), false, nil
	case !c.rollup.Restated && equal(c.rollup, c.events.sum):
		return Result{}, false, nil
	}
	if why, err := a.settle(ctx, b, c.events.places); why != "" || err != nil {
		return finding(Unsettled, why), false, err
	}
	moved, err := a.moved(ctx, b, c.read)
	if err != nil {
		return a.notRead(err)
	}
	if moved {
		return Result{}, true, nil
	}
	return a.repairBucket(ctx, b, c)
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

// moved tells whether any part has been folded into, come or gone since.
func (a *Auditor) moved(ctx context.Context, b parts.Bucket, since []parts.Part) (bool, error) {
	now, err := a.store.Read(ctx, b)
	same := slices.EqualFunc(now, since, func(p, q parts.Part) bool {
		return p.StreamShard == q.StreamShard && p.Sequence == q.Sequence
	})
	return !same, err
}

// repairBucket takes care of a rollup that is at rest and differs from its events.
func (a *Auditor) repairBucket(ctx context.Context, b parts.Bucket, c *comparison) (result Result, again bool, err error) {
	state := Wrong
	if c.rollup.Restated {
		state = Restated
	}
	result = c.finding(state)
	other, err := a.inOtherWidth(ctx, b)
	if err != nil {
		return a.notRead(err)
	}
	if other != "" {
		result.Findings[0].State, result.Findings[0].Detail = Mixed, "there is also a rollup of "+other
		return result, false, nil
	}
	if !a.o.Repair {
		return result, false, nil
	}
	err = a.store.Replace(ctx, b, c.read, c.events.total())
	switch {
	case errors.Is(err, parts.ErrMoved):
		return Result{}, true, nil
	case err != nil && !ofCall(err):
		return finding(Failed, err.Error()), false, nil
	}
	result.Findings[0].Repaired = err == nil
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
