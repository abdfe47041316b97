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
	observed observe.Call
	hits     []*hit
	gives    bool // some hits are given back
	unknown  bool // an attempt may have counted the hits
	allowed  bool
}

// newCall checks a call, and returns its state with the keys' entries in the shard map.
func (l *Limiter) newCall(ctx context.Context, hits []Hits, now time.Time) (*call, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(l.client, l.shards), checkAll(hits)); err != nil {
		return nil, err
	}
	c := &call{Limiter: l, observed: observe.Begin(l.observer)}
	for _, each := range hits {
		h, err := l.newHit(ctx, each, now)
		if err != nil {
			return nil, fmt.Errorf("limit %q: %w", each.Key, err)
		}
		h.budget = dynamo.MaxActions / len(hits)
		c.hits, c.gives = append(c.hits, h), c.gives || h.n < 0
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
		return nil, fmt.Errorf("hit of limits: %w", err)
	}
	for _, h := range c.hits {
		if c.allowed {
			h.window.addOwn(h.counted())
		}
	}
	c.refresh(ctx)
	return c.verdicts(), nil
}

// persist makes attempts until one is conclusive. A transaction of several limits conflicts with others more often than
// a transfer, so it is repeated sooner.
func (c *call) persist(ctx context.Context) error {
	if len(c.hits) == 1 {
		return dynamo.PersistSum(ctx, c.attempt)
	}
	startBy := dynamo.StartBy(ctx)
	return dynamo.PersistSum(ctx, func(ctx context.Context) error {
		return dynamo.RepeatConflicts(ctx, startBy, c.attempt)
	})
}

// attempt makes one attempt to count the hits, and sets allowed if it succeeds. It uses the newest
// cached entries of the shard map, and refreshes no view. When waiting hits did refresh their views,
// more of them transferred quota at once, and fewer hits of a storm were answered in time
// (docs/performance/storm-limits.txt).
func (c *call) attempt(ctx context.Context) error {
	most := 0
	for _, h := range c.hits {
		h.lookUp(ctx)
		most = max(most, h.all)
	}
	for range most + 4*maxMisses {
		fits, err := c.plan(ctx)
		if err == nil && !fits && c.unknown {
			err = fmt.Errorf("%w: an attempt had an unknown outcome, and may have counted the hits; no quota remains to count them again", shard.ErrUnavailable)
		}
		if !fits || err != nil {
			return err
		}
		took, err := c.apply(ctx)
		if took || err != nil {
			c.allowed = took
			return err
		}
	}
	return fmt.Errorf("%w: other hits used the remaining quota first; retry the call", dynamo.ErrOutrun)
}

// plan sets each limit's changes, and reports whether no limit rejects the hits.
func (c *call) plan(ctx context.Context) (bool, error) {
	fits := true
	for _, h := range c.hits {
		if err := h.plan(ctx); err != nil {
			return false, err
		}
		fits = fits && h.fits
	}
	return fits, nil
}

// apply makes all changes at once, and reports whether all write shards had the quota.
func (c *call) apply(ctx context.Context) (took bool, err error) {
	writes := c.writes()
	switch len(writes) {
	case 0:
		return true, nil
	case 1:
		took, err = c.update(ctx, writes[0])
	default:
		took, err = c.transact(ctx, writes)
	}
	c.unknown = c.unknown || dynamo.MayApply(err)
	if c.gives && dynamo.MayApply(err) { // a second attempt might give back twice, and allow more hits than the limit
		err = fmt.Errorf("%w: %v", shard.ErrUnavailable, err)
	}
	return took, err
}

// write is a change of a limit's write shard.
type write struct {
	shardmap.Write
	change
	hit    *hit
	before use  // cached before the write
	final  bool // no more quota can arrive on the write shard
}

func (c *call) writes() (list []write) {
	for _, h := range c.hits {
		for _, change := range h.changes {
			before, _ := h.window.knownUse(change.n)
			final := !h.hasShare(change.n) && h.sharesFull()
			list = append(list, write{h.observedWrite(change), change, h, before, final})
		}
	}
	return list
}

// update makes a single change, and reports whether the write shard had quota for it.
func (c *call) update(ctx context.Context, w write) (bool, error) {
	in := dynamo.UpdateInput(w.Action.Update)
	in.ReturnValues = types.ReturnValueUpdatedNew
	out, err := c.client.UpdateItem(ctx, in, dynamo.NoRetry)
	err = c.observed.Observe(ctx, w.Attempt, err)
	if there, failed := dynamo.ConditionFailed(err); failed {
		return false, w.hit.cacheMiss(w.n, there, w.final)
	}
	if err != nil {
		return false, err
	}
	w.hit.exact, err = w.hit.cacheItem(w.n, out.Attributes)
	if err == nil && w.hit.all == 1 { // the item has all hits, also this call's, which HitAll adds to own later
		w.hit.window.setTotal(1, w.hit.window.ownHits()+w.hits, w.hit.now)
	}
	return true, err
}

// transact makes several changes at once, and reports whether all write shards had the quota.
func (c *call) transact(ctx context.Context, writes []write) (bool, error) {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, w := range writes {
		in.TransactItems = append(in.TransactItems, w.Action)
	}
	_, err := c.client.TransactWriteItems(ctx, in, dynamo.NoRetry)
	hopeless := false
	for i, w := range writes {
		hopeless = c.observed.ObserveAs(ctx, w.Attempt, c.probes.Outcome(ctx, w.Write, i, err)) || hopeless
	}
	if hopeless {
		err = dynamo.Last(err)
	}
	failed := dynamo.FailedConditions(err)
	for _, i := range failed {
		there, _ := dynamo.ActionFailed(err, i)
		if err := writes[i].hit.cacheMiss(writes[i].n, there, writes[i].final); err != nil {
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

// HitTransact returns the writes of hits for a transaction of package once, and the verdicts if they are
// applied. There is no write if a limit rejects its hits, and otherwise each has the condition that quota
// remains. HitTransact reads all write shards strongly consistent, at 1 RCU each. If the quota is used up
// meanwhile, package once calls it again, and the verdicts may change.
func (l *Limiter) HitTransact(ctx context.Context, hits []Hits, now time.Time) ([]shardmap.Write, []Verdict, error) {
	c, err := l.newCall(ctx, hits, now)
	if err == nil {
		err = c.planAfterRead(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("hit of limits: %w", err)
	}
	var list []shardmap.Write
	for _, w := range c.writes() {
		if c.allowed {
			list = append(list, w.Write)
		}
	}
	return list, c.verdicts(), nil
}

// planAfterRead plans the hits by the current use.
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
			h.window.claimRead(time.Time{}, 0) // outdates the cache, which lacks what package once writes
		}
	}
	return err
}

func (c *call) verdicts() (list []Verdict) {
	for _, h := range c.hits {
		list = append(list, h.verdict(c.allowed))
	}
	return list
}

// checkAll returns [shard.ErrMisused] if the hits of a call are out of bounds.
func checkAll(hits []Hits) error {
	if len(hits) < 1 || len(hits) > MaxLimits {
		return fmt.Errorf("%w: %d limits in a call: want 1 to %d", shard.ErrMisused, len(hits), MaxLimits)
	}
	type window struct {
		key    string
		length time.Duration
	}
	seen := map[window]bool{}
	for _, h := range hits {
		err, w := h.check(), window{h.Key, h.Window}
		if err == nil && seen[w] {
			err = fmt.Errorf("limit %q, window %v: it comes twice in a call", h.Key, h.Window)
		}
		seen[w] = true
		if err != nil {
			return fmt.Errorf("%w: %w", shard.ErrMisused, err)
		}
	}
	return nil
}
