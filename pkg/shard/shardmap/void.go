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

// shrinkLead is added to the lead of a decrease. A decrease may be committed LateTime late, and views have it within
// another LateTime. The third LateTime is a reserve.
const shrinkLead = 3 * LateTime

// resolveUnknown returns the entry of a change with an unknown outcome if the change was made. Otherwise it voids the
// change's transaction and returns an error. After the caller's deadline it returns ErrUnavailable, and goes on in the
// background.
func (c *Changer) resolveUnknown(ctx context.Context, old, next Entry, decide decision, isLate func() bool, unknown error) (Entry, error) {
	background, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*LateTime)
	begun, done := time.Now().Round(0), make(chan struct{})
	var made Entry
	var err error
	go func() {
		defer cancel()
		defer close(done)
		made, err = c.void(background, old, next, decide, begun, isLate)
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

// void ends the uncertainty about a change with an unknown outcome. It raises the version of the key's item, on the
// same condition as the change's transaction, until the raise succeeds or the condition fails:
//   - If the raise succeeds, the transaction can't be committed any more, and void returns errVoided.
//   - If the condition fails and the item has the change, the change was made.
//   - If the item does not have the change, another change was made instead, and void returns errVoided.
//
// isLate reports whether commitTime has passed since the change began. Polls may miss a change that is stored after that.
// If the change was stored so late, void dates it again. A decrease keeps its date: all processes read it before it
// takes effect.
func (c *Changer) void(ctx context.Context, old, next Entry, decide decision, begun time.Time, isLate func() bool) (Entry, error) {
	isGrowthOrReset := len(next.History) == 0 || next.History.Newest() > old.History.Newest()
	missedByPolls := false
	for {
		raised, err := c.raiseVersion(ctx, old)
		if err == nil {
			c.updateView(raised, true)
			return raised, errVoided
		}
		_, conditionFailed := dynamo.ConditionFailed(err)
		wasLate := isLate() // before the read: a change that the read does not find is stored later
		stored, err := c.Read(ctx, next.Key)
		if err == nil && conditionFailed {
			switch {
			case !next.isMadeIn(stored): // an earlier raise succeeded, or another change was made
				return stored, errVoided
			case missedByPolls && isGrowthOrReset:
				return c.redate(ctx, old, next, decide, begun)
			}
			return next, nil
		}
		if err == nil && wasLate && stored.Version == old.Version {
			missedByPolls = true
		}
		if !dynamo.Pause(ctx, rand.N(100*time.Millisecond+dynamo.Since(begun)/50)) {
			return old, errors.Join(shard.ErrUnavailable, ctx.Err())
		}
	}
}

// raiseVersion raises the version of a key's item if the item still has e's version, and returns the raised entry. No
// view needs the new version, so the log does not have it.
func (c *Changer) raiseVersion(ctx context.Context, e Entry) (raised Entry, err error) {
	raised = e
	raised.Version++
	return raised, withTimeLimit(ctx, callTime, func(ctx context.Context) error {
		_, err := c.client.PutItem(ctx, dynamo.PutInput(c.replacementPut(e, raised)), dynamo.NoRetry)
		return err
	})
}

// isMadeIn reports whether the stored entry is e, the result of a change. The stored version may have been raised since.
func (e Entry) isMadeIn(stored Entry) bool {
	return stored.fault == nil && stored.Version >= e.Version && stored.Updated.Equal(e.Updated) &&
		stored.deleted == e.deleted && stored.Pinned == e.Pinned && slices.Equal(stored.History.Strings(), e.History.Strings())
}

// redate gives a change that was committed late the current time. So polls read the change, and it takes effect a lead
// from now. It returns the entry with the new date, or made if a newer change replaced the late one.
func (c *Changer) redate(ctx context.Context, old, made Entry, decide decision, begun time.Time) (Entry, error) {
	for {
		current := made.Updated.Add(dynamo.Since(begun)) // by the clock of the change
		again, err := c.change(ctx, made.Key, current, func(e Entry, now time.Time) (Entry, error) {
			if !made.isMadeIn(e) {
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
