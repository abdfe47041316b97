package shardmap

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// LateTime is how long after its start a transaction with an unknown outcome may be committed. A
// [Changer] voids such transactions of its own, so that only a Changer that died leaves one behind.
const LateTime = time.Minute

// shrinkLead is how much longer the lead of a decrease is. A decrease may be committed LateTime late,
// and views have it within another LateTime. The third LateTime is a reserve.
const shrinkLead = 3 * LateTime

// resolveUnknown finds out whether a change with an unknown outcome was made, and returns its entry. If it was
// not made, resolveUnknown voids its transaction and returns an error. The work continues after the caller's
// deadline.
func (c *Changer) resolveUnknown(ctx context.Context, old, next Entry, decide decision, late func() bool, unknown error) (Entry, error) {
	background, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*LateTime)
	begun, done := time.Now().Round(0), make(chan struct{})
	var made Entry
	var err error
	go func() {
		defer cancel()
		defer close(done)
		made, err = c.void(background, old, next, decide, begun, late)
	}()
	select {
	case <-done:
		return made, err
	case <-ctx.Done():
		return old, fmt.Errorf("%w: %w", shard.ErrUnavailable, unknown)
	}
}

// errVoided means that the change was not made, and can't be made any more.
var errVoided = fmt.Errorf("%w: the change had an unknown outcome and was voided; try again", shard.ErrUnavailable)

// void makes a change with an unknown outcome certain. It raises the version of the key's item, on the
// same condition as the change's transaction, until that succeeds or the condition fails:
//   - If it succeeds, the transaction can't be committed any more, and void returns errVoided.
//   - If the condition fails and the item has the change, the change was made.
//   - If the item does not have it, another change was made instead, and void returns errVoided.
//
// If a read after the commit's bound did not have the change yet, polls may have missed it, so it is
// dated again. A decrease is not: all processes read it before it takes effect.
func (c *Changer) void(ctx context.Context, old, next Entry, decide decision, begun time.Time, late func() bool) (Entry, error) {
	missed := false
	for {
		raised, err := c.raiseVersion(ctx, old)
		if err == nil {
			c.adopt(raised, true)
			return raised, errVoided
		}
		_, changed := dynamo.ConditionFailed(err)
		wasLate := late()
		e, err := c.Read(ctx, next.Key)
		switch {
		case err != nil: // raise again
		case !changed:
			missed = missed || wasLate && e.Version == old.Version
		case next.madeIn(e) && missed && (len(next.History) == 0 || next.History.Newest() > old.History.Newest()):
			return c.dateAgain(ctx, old, next, decide, begun)
		case next.madeIn(e):
			return next, nil
		default:
			return e, errVoided // an earlier raise succeeded, or another change was made
		}
		if !dynamo.Pause(ctx, rand.N(100*time.Millisecond+dynamo.Since(begun)/50)) {
			return old, errors.Join(shard.ErrUnavailable, ctx.Err())
		}
	}
}

// raiseVersion raises the version of a key's item if the item still has e's version. No view needs the new
// version, so the log does not have it.
func (c *Changer) raiseVersion(ctx context.Context, e Entry) (raised Entry, err error) {
	raised = e
	raised.Version++
	return raised, withTimeLimit(ctx, callTime, func(ctx context.Context) error {
		_, err := c.client.PutItem(ctx, dynamo.PutInput(c.replacement(e, raised)), dynamo.NoRetry)
		return err
	})
}

// madeIn reports whether the stored entry is e, which a change made. The stored version may have been raised since.
func (e Entry) madeIn(stored Entry) bool {
	return stored.fault == nil && stored.Version >= e.Version && stored.Updated.Equal(e.Updated) &&
		stored.deleted == e.deleted && stored.Pinned == e.Pinned && slices.Equal(stored.History.Strings(), e.History.Strings())
}

// dateAgain replaces a change that was committed late by the same change with the current time, so
// that polls read it and it takes effect a lead from now. It returns the entry with the new date, or
// made if a newer change replaced it.
func (c *Changer) dateAgain(ctx context.Context, old, made Entry, decide decision, begun time.Time) (Entry, error) {
	for {
		current := made.Updated.Add(dynamo.Since(begun)) // by the clock of the change
		again, err := c.change(ctx, made.Key, current, func(e Entry, now time.Time) (Entry, error) {
			if !made.madeIn(e) {
				return e, ErrNoChange
			}
			next, err := decide(old, now) // the same decision: e has the change already
			next.Version = e.Version + 1
			return next, err
		})
		if errors.Is(err, ErrNoChange) {
			return made, nil
		}
		if err == nil || !dynamo.WorthRetrying(ctx, err) || !dynamo.Pause(ctx, rand.N(100*time.Millisecond)) {
			return again, err
		}
	}
}
