package limits

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// call is a call of a Limiter. All its hits are counted, or none.
type call struct {
	*Limiter
	observed     observe.Call
	hits         []*hit
	givesBack    bool // the call gives hits of some limit back
	mayBeCounted bool // an attempt with an unknown outcome may have counted the hits
	allowed      bool // the hits were counted, or HitTransact has planned to count them
}

// newCall returns a call that counts hits. It returns ErrMisused if an argument is out of bounds, or the error of the
// look-up of a shard count.
func (l *Limiter) newCall(ctx context.Context, hits []Hits, now time.Time) (*call, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(l.client, l.shards), checkAll(hits)); err != nil {
		return nil, err
	}
	c := &call{Limiter: l, observed: observe.Begin(l.observer)}
	for _, requested := range hits {
		h, err := l.newHit(ctx, requested, now)
		if err != nil {
			return nil, err
		}
		h.budget = dynamo.MaxTransactActions / len(hits)
		c.hits = append(c.hits, h)
		c.givesBack = c.givesBack || h.n < 0
	}
	return c, nil
}

// HitAll counts hits of 1 to MaxLimits limits if all of them allow theirs, and none otherwise. It returns a
// verdict for each limit, in order. No two of them may have the same key and window. The errors are those of HitN.
func (l *Limiter) HitAll(ctx context.Context, hits []Hits, now time.Time) ([]Verdict, error) {
	c, err := l.newCall(ctx, hits, now)
	if err == nil {
		err = c.persist(ctx)
	}
	if err != nil {
		return nil, hitError(hits, err)
	}
	for _, h := range c.hits {
		if c.allowed {
			h.window.addOwnHits(h.counted())
		}
	}
	c.refresh(ctx)
	return c.verdicts(), nil
}

// persist makes attempts until the hits are counted or rejected. Transactions of several limits often conflict, so
// RepeatConflicts retries them sooner than PersistSum would.
func (c *call) persist(ctx context.Context) error {
	if len(c.hits) == 1 {
		return dynamo.PersistSum(ctx, c.attempt)
	}
	startBy := dynamo.StartBy(ctx)
	return dynamo.PersistSum(ctx, func(ctx context.Context) error {
		return dynamo.RepeatConflicts(ctx, startBy, c.attempt)
	})
}

// attempt makes one attempt to count the hits, and sets allowed if it succeeds. It tries other write shards while those
// that it tried lack the quota. It uses the newest cached entries of the shard map. Waiting hits refresh no view: if
// they did, more of them would transfer quota at once, and fewer hits of a storm would be answered in time
// (docs/performance/storm-limits.txt).
func (c *call) attempt(ctx context.Context) error {
	mostShards := 0
	for _, h := range c.hits {
		h.lookUp(ctx)
		mostShards = max(mostShards, h.allShards)
	}
	// Every maxMisses misses lead to a read of all write shards: at the bound, other hits were faster after at least four reads.
	for range mostShards + 4*maxMisses {
		fits, err := c.plan(ctx)
		if err == nil && !fits && c.mayBeCounted {
			err = fmt.Errorf("%w: an earlier attempt, whose outcome is unknown, may have counted the hits; no quota remains to count them again", shard.ErrUnavailable)
		}
		if !fits || err != nil {
			return err
		}
		applied, err := c.apply(ctx)
		if applied || err != nil {
			c.allowed = applied
			return err
		}
	}
	return fmt.Errorf("%w: other hits used the remaining quota first; retry the call", dynamo.ErrOutrun)
}

// plan sets each limit's changes. fits is false if a limit rejects its hits.
func (c *call) plan(ctx context.Context) (fits bool, err error) {
	fits = true
	for _, h := range c.hits {
		if err := h.plan(ctx); err != nil {
			return false, err
		}
		fits = fits && h.fits
	}
	return fits, nil
}

// apply makes all changes at once. applied is false if a write shard lacks the quota; then nothing was changed.
func (c *call) apply(ctx context.Context) (applied bool, err error) {
	writes := c.writes()
	switch len(writes) {
	case 0:
		return true, nil
	case 1:
		applied, err = c.update(ctx, writes[0])
	default:
		applied, err = c.transact(ctx, writes)
	}
	c.mayBeCounted = c.mayBeCounted || dynamo.MayApply(err)
	if c.givesBack && dynamo.MayApply(err) { // no retry: it might give hits back twice, and so allow more than the limit
		err = fmt.Errorf("%w: %v", shard.ErrUnavailable, err)
	}
	return applied, err
}

// write is a change of a limit's write shard.
type write struct {
	shardmap.Write
	change
	hit         *hit
	before      use  // cached before the write
	noMoreQuota bool // no more quota can be transferred to the write shard
}

// writes returns the writes of the planned changes of all limits.
func (c *call) writes() (list []write) {
	for _, h := range c.hits {
		for _, change := range h.changes {
			before, _ := h.window.knownUse(change.n)
			noMoreQuota := !h.hasShare(change.n) && h.sharesFull()
			list = append(list, write{h.observedWrite(change), change, h, before, noMoreQuota})
		}
	}
	return list
}

// update makes a single change. applied is false if the write shard lacks the quota.
func (c *call) update(ctx context.Context, w write) (applied bool, err error) {
	in := dynamo.UpdateInput(w.Action.Update)
	in.ReturnValues = types.ReturnValueUpdatedNew
	out, err := c.client.UpdateItem(ctx, in, dynamo.NoRetry)
	err = c.observed.Observe(ctx, w.Attempt, err)
	if stored, conditionFailed := dynamo.ConditionFailed(err); conditionFailed {
		return false, w.hit.cacheMiss(w.n, stored, w.noMoreQuota)
	}
	if err != nil {
		return false, err
	}
	w.hit.exact, err = w.hit.cacheItem(w.n, out.Attributes)
	if err == nil && w.hit.allShards == 1 { // the item has all hits, including w.hits, which HitAll adds to ownHits later
		w.hit.window.setTotal(1, w.hit.window.ownHits()+w.hits, w.hit.now)
	}
	return true, err
}

// transact makes several changes in a transaction. applied is false if a write shard lacks the quota.
func (c *call) transact(ctx context.Context, writes []write) (applied bool, err error) {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, w := range writes {
		in.TransactItems = append(in.TransactItems, w.Action)
	}
	_, err = c.client.TransactWriteItems(ctx, in, dynamo.NoRetry)
	hopeless := false
	for i, w := range writes {
		hopeless = c.observed.ObserveAs(ctx, w.Attempt, c.probes.Outcome(ctx, w.Write, i, err)) || hopeless
	}
	if hopeless {
		err = dynamo.Final(err)
	}
	failed := dynamo.FailedActions(err)
	for _, i := range failed {
		stored, _ := dynamo.ActionFailed(err, i)
		if err := writes[i].hit.cacheMiss(writes[i].n, stored, writes[i].noMoreQuota); err != nil {
			return false, err
		}
	}
	if len(failed) > 0 {
		return false, nil
	}
	for _, w := range writes {
		w.hit.window.cacheChange(w.change, w.before, err == nil, w.hit.hasShare(w.n))
	}
	return err == nil, err
}

// HitTransact returns the writes of hits for a transaction of package once, and the verdicts for the case that
// the transaction is applied. It returns no writes if a limit rejects its hits. Each write has the condition that
// quota remains. If a condition fails, package once calls HitTransact again, and the verdicts may change.
// HitTransact reads all write shards strongly consistent, at 1 RCU each.
func (l *Limiter) HitTransact(ctx context.Context, hits []Hits, now time.Time) ([]shardmap.Write, []Verdict, error) {
	c, err := l.newCall(ctx, hits, now)
	if err == nil {
		err = c.planAfterRead(ctx)
	}
	if err != nil {
		return nil, nil, hitError(hits, err)
	}
	var list []shardmap.Write
	if c.allowed {
		for _, w := range c.writes() {
			list = append(list, w.Write)
		}
	}
	return list, c.verdicts(), nil
}

// planAfterRead reads the current use, plans the hits by it, and sets allowed.
func (c *call) planAfterRead(ctx context.Context) (err error) {
	for _, h := range c.hits {
		if err := h.readUnlessFull(ctx); err != nil {
			return err
		}
	}
	c.allowed, err = c.plan(ctx)
	for _, h := range c.hits {
		h.planned = c.allowed
		if c.allowed {
			h.window.expireRead() // the cache will lack what package once writes
		}
	}
	return err
}

// verdicts returns the verdict of each limit, in the call's order.
func (c *call) verdicts() (list []Verdict) {
	for _, h := range c.hits {
		list = append(list, h.verdict(c.allowed))
	}
	return list
}

// hitError adds the keys of a call's limits to an error.
func hitError(hits []Hits, err error) error {
	var keys []string
	for _, h := range hits[:min(len(hits), MaxLimits)] {
		keys = append(keys, h.Key)
	}
	return fmt.Errorf("counting hits of %q: %w", keys, err)
}

// checkAll returns [shard.ErrMisused] if the hits of a call are out of bounds.
func checkAll(hits []Hits) error {
	if len(hits) < 1 || len(hits) > MaxLimits {
		return fmt.Errorf("%w: the call has %d limits: want 1 to %d", shard.ErrMisused, len(hits), MaxLimits)
	}
	type window struct {
		key    string
		length time.Duration
	}
	seen := map[window]bool{}
	for _, h := range hits {
		err, w := h.check(), window{h.Key, h.Window}
		if err == nil && seen[w] {
			err = fmt.Errorf("limit %q with window %v is twice in the call: combine its hits", h.Key, h.Window)
		}
		seen[w] = true
		if err != nil {
			return fmt.Errorf("%w: %w", shard.ErrMisused, err)
		}
	}
	return nil
}
