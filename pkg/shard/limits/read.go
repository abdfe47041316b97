package limits

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// HitTransact returns a hit's writes for a transaction of package once, and the verdict if they are
// applied. There is one write, or two if quota is transferred, on condition that quota remains. There
// is none if the limit rejects the hit. HitTransact reads all write shards strongly consistent, at
// 1 RCU each. If the quota is used up meanwhile, package once calls it again, and the verdict may
// change.
func (l *Limiter) HitTransact(ctx context.Context, limit Limit, now time.Time) ([]shardmap.Write, Verdict, error) {
	h, err := l.newHitAfterRead(ctx, limit, now)
	if err != nil {
		return nil, Verdict{}, fmt.Errorf("hit of limit %q: %w", limit.Key, err)
	}
	changes := h.plan()
	if changes == nil {
		return nil, h.verdict(), nil
	}
	h.allowed = true
	v := h.verdict()
	v.Used = h.window.totalUsed(h.Max) + 1
	v.Remaining = max(0, h.Max-v.Used)
	return h.writes(changes), v, nil
}

// Peek returns the verdict without counting a hit: Allowed reports whether a hit remains. It reads all
// write shards strongly consistent, at 1 RCU each, or none if this process has cached that the limit is
// used up. Used may or may not include hits in flight. The errors are those of Hit.
func (l *Limiter) Peek(ctx context.Context, limit Limit, now time.Time) (Verdict, error) {
	h, err := l.newHitAfterRead(ctx, limit, now)
	if err != nil {
		return Verdict{}, fmt.Errorf("reading limit %q: %w", limit.Key, err)
	}
	left := h.totalLeft()
	return Verdict{Allowed: left > 0, Used: h.Max - left, Remaining: left, Resets: h.end()}, nil
}

// newHitAfterRead returns the state of a call of one hit, after reading all write shards unless they are
// known to be full.
func (l *Limiter) newHitAfterRead(ctx context.Context, limit Limit, now time.Time) (*hit, error) {
	h, err := l.newHit(ctx, limit, 1, now)
	if err == nil && !h.full() {
		err = h.readAll(ctx, true)
	}
	return h, err
}

// readAll reads the use of all write shards. Those with a share come first: if a consistent
// read finds them full, the others get no more quota, and their use is final.
func (h *hit) readAll(ctx context.Context, consistent bool) error {
	begin := h.window.own.Load()
	err := h.readFrom(ctx, 0, h.first, consistent, false)
	if err == nil && h.all > h.first {
		err = h.readFrom(ctx, h.first, h.all, consistent, consistent && h.sharesFull())
	}
	if err == nil {
		h.window.setTotal(h.all, begin)
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
		if err := h.cacheItem(from+i, it); err != nil {
			return err
		}
		if used, _ := dynamo.Integer(it, schema.LimitUsed); final && used >= 0 {
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

// refresh reads the use of all write shards, at 0.5 RCU each, if the last read is over 1 s old, or
// longer so that reads stay below refreshUnits. After refreshTime it gives up, and Used stays as it was.
func (h *hit) refresh(ctx context.Context) {
	every := max(time.Second, time.Duration(h.all)*time.Second/(2*refreshUnits))
	if h.all == 1 || !h.allowed || !h.window.claimRead(h.now, every) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	_ = h.readAll(ctx, false)
}

// totalLeft returns an upper bound of the quota that all write shards have left.
func (h *hit) totalLeft() (all int64) {
	for _, quota := range h.window.remaining(&h.division) {
		all += quota
	}
	return all
}

// verdict returns the result of the hits.
func (h *hit) verdict() Verdict {
	v := Verdict{Allowed: h.allowed, Used: h.window.totalUsed(h.Max), Resets: h.end()}
	switch {
	case !h.allowed:
		v.Used = max(v.Used, h.Max-h.totalLeft())
	case h.all == 1:
		v.Used = h.used
	default:
		v.Used = max(v.Used, h.hits)
	}
	v.Remaining = max(0, h.Max-v.Used)
	return v
}
