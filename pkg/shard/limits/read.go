package limits

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// readUnlessFull reads all write shards. It skips the read for new hits if all are known to be full and readAge allows.
func (h *hit) readUnlessFull(ctx context.Context) error {
	if err := h.lowerMax(ctx); err != nil {
		return err
	}
	if h.n > 0 && h.full() && !h.window.claimRead(h.now, h.readAge()) {
		return nil
	}
	return h.readAll(ctx, true)
}

// readAll reads the use of all write shards into the cache. It reads the write shards with a share first. If a
// consistent read finds all of these full, the other write shards receive no more quota.
func (h *hit) readAll(ctx context.Context, consistent bool) error {
	ownHits := h.window.ownHits()
	h.misses = 0
	if consistent {
		h.window.forgetSpent()
	}
	err := h.readShards(ctx, 0, h.withShare, consistent, false)
	if err == nil && h.allShards > h.withShare {
		err = h.readShards(ctx, h.withShare, h.allShards, consistent, consistent && h.sharesFull())
	}
	if err == nil {
		h.window.setTotal(h.allShards, ownHits, h.now)
	}
	return err
}

// readShards reads the use of the write shards n, from <= n < to, into the cache. noMoreQuota means that they receive no
// more quota.
func (h *hit) readShards(ctx context.Context, from, to int, consistent, noMoreQuota bool) error {
	var keys []dynamo.Item
	for n := from; n < to; n++ {
		keys = append(keys, h.itemKey(n))
	}
	items, err := dynamo.BatchGet(ctx, h.client, h.table, keys, consistent)
	if err != nil {
		return err
	}
	found := make(map[string]dynamo.Item, len(items))
	for _, it := range items {
		found[dynamo.Text(it, schema.PK)] = it
	}
	for i, key := range keys {
		it := found[dynamo.Text(key, schema.PK)]
		current, err := h.cacheItem(from+i, it)
		if err != nil {
			return err
		}
		if noMoreQuota && current.used >= 0 {
			h.window.setSpent(from+i, h.Max)
		}
	}
	return nil
}

// Bounds of a refresh.
const (
	refreshTime  = 250 * time.Millisecond
	refreshUnits = 8 // RCU/s that a process uses for each limit
)

// readAge returns how old the last read of all write shards may be: 1 s, or longer so that reads stay
// below refreshUnits.
func (h *hit) readAge() time.Duration {
	return max(time.Second, time.Duration(h.allShards)*time.Second/(2*refreshUnits))
}

// refresh reads the use of all write shards, at 0.5 RCU each, if the last read is older than readAge; for a single
// limit only if it has several write shards and allowed the hits. After refreshTime it gives up, and Used is older.
func (c *call) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	for _, h := range c.hits {
		needed := len(c.hits) > 1 || h.allShards > 1 && c.allowed
		isExact := h.exact != nil && h.allShards == 1
		if needed && !isExact && h.window.claimRead(h.now, h.readAge()) {
			_ = h.readAll(ctx, false)
		}
	}
}

// totalLeft returns an upper bound of the remaining quota of all write shards together.
func (h *hit) totalLeft() (all int64) {
	for _, quota := range h.window.remaining(&h.division) {
		all += quota
	}
	return all
}

// verdict returns the result for this limit in a call that is allowed or not. Another limit of the call may be the
// reason why the call is not allowed.
func (h *hit) verdict(allowed bool) Verdict {
	v := Verdict{Allowed: allowed || h.fits, Used: h.window.totalUsed(h.Max), Resets: h.end()}
	switch {
	case h.exact != nil && h.allShards == 1:
		v.Used = h.exact.hits
	case h.planned:
		v.Used += h.counted()
	case allowed:
		v.Used = max(v.Used, h.n)
	case !h.fits && h.exceedsMax() && !h.full(): // the quota that is left says nothing about the hits
		v.Used = max(v.Used, min(h.cachedHits(), h.Max))
	case !h.fits:
		v.Used = max(v.Used, h.Max-h.totalLeft())
	}
	if !v.Allowed {
		v.Retry = h.retryTime(v.Used)
	}
	v.Used = max(v.Used, min(v.Used+h.weight, h.fullMax)) // Used exceeds fullMax if late hits raised the weight
	v.Remaining = max(0, h.fullMax-v.Used)
	return v
}
