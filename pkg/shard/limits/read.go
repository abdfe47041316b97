package limits

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// readUnlessFull reads all write shards unless they are known to be full.
func (h *hit) readUnlessFull(ctx context.Context) error {
	if err := h.weigh(ctx); err != nil {
		return err
	}
	if h.n > 0 && h.full() && !h.window.claimRead(h.now, h.readAge()) {
		return nil
	}
	return h.readAll(ctx, true)
}

// readAll reads the use of all write shards. Those with a share come first: if a consistent
// read finds them full, the others get no more quota, and their use is final.
func (h *hit) readAll(ctx context.Context, consistent bool) error {
	begin := h.window.ownHits()
	h.misses = 0
	if consistent {
		h.window.forgetSpent()
	}
	err := h.readFrom(ctx, 0, h.first, consistent, false)
	if err == nil && h.all > h.first {
		err = h.readFrom(ctx, h.first, h.all, consistent, consistent && h.sharesFull())
	}
	if err == nil {
		h.window.setTotal(h.all, begin, h.now)
	}
	return err
}

// readFrom reads the use of write shards from to to-1. final means that no more quota is transferred to
// them: a write shard without quota has none for good.
func (h *hit) readFrom(ctx context.Context, from, to int, consistent, final bool) error {
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
		there, err := h.cacheItem(from+i, it)
		if err != nil {
			return err
		}
		if final && there.used >= 0 {
			h.window.setSpent(from+i, h.Max)
		}
	}
	return nil
}

// Bounds of a refresh.
const (
	refreshTime  = 250 * time.Millisecond
	refreshUnits = 8 // RCU/s of a process for each limit
)

// readAge returns how old the last read of all write shards may be: 1 s, or longer so that reads stay
// below refreshUnits.
func (h *hit) readAge() time.Duration {
	return max(time.Second, time.Duration(h.all)*time.Second/(2*refreshUnits))
}

// refresh reads the use of all write shards, at 0.5 RCU each, if the last read is too old and the call's write did
// not return Used. After refreshTime it gives up, and Used stays as it was.
func (c *call) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	for _, h := range c.hits {
		needed := len(c.hits) > 1 || h.all > 1 && c.allowed
		if needed && (h.exact == nil || h.all > 1) && h.window.claimRead(h.now, h.readAge()) {
			_ = h.readAll(ctx, false)
		}
	}
}

// totalLeft returns an upper bound of the quota that all write shards have left.
func (h *hit) totalLeft() (all int64) {
	for _, quota := range h.window.remaining(&h.division) {
		all += quota
	}
	return all
}

// verdict returns the result of the hits in a call that is allowed or not. In a call with several limits,
// this one may not be the one that rejects them.
func (h *hit) verdict(allowed bool) Verdict {
	v := Verdict{Allowed: allowed || h.fits, Used: h.window.totalUsed(h.Max), Resets: h.end()}
	switch {
	case h.exact != nil && h.all == 1:
		v.Used = h.exact.hits
	case h.planned:
		v.Used += h.counted()
	case allowed:
		v.Used = max(v.Used, h.n)
	case !h.fits:
		v.Used = max(v.Used, h.Max-h.totalLeft())
	}
	if !v.Allowed {
		v.Retry = h.retry(v.Used)
	}
	v.Used = max(v.Used, min(v.Used+h.weight, h.most)) // more is used if late hits raised the weight
	v.Remaining = max(0, h.most-v.Used)
	return v
}
