package limits

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// HitTransact returns a hit's writes for a transaction of package once, and the verdict that
// holds if they are applied. There is one write, or two if quota is transferred, each on
// condition that quota remains; none if the limit rejects the hit. HitTransact reads all write
// shards strongly consistent, at 1 RCU each. If the quota is used up meanwhile, package once
// calls it again, and the verdict may change.
func (l *Limiter) HitTransact(ctx context.Context, limit Limit, now time.Time) ([]shardmap.Write, Verdict, error) {
	h, err := l.read(ctx, limit, now)
	if err != nil {
		return nil, Verdict{}, fmt.Errorf("hit of limit %q: %w", limit.Key, err)
	}
	changes := h.plan()
	if changes == nil {
		return nil, h.verdict(), nil
	}
	h.allowed = true
	v := h.verdict()
	v.Used = h.window.sum(h.Max) + 1
	v.Remaining = max(0, h.Max-v.Used)
	return h.writes(changes), v, nil
}

// Peek returns what a hit would find, and counts none: Allowed reports whether a hit remains. It reads
// all write shards strongly consistent, at 1 RCU each, or none if the process knows that the limit is
// used up. Hits in flight may or may not be in Used. Errors are those of Hit.
func (l *Limiter) Peek(ctx context.Context, limit Limit, now time.Time) (Verdict, error) {
	h, err := l.read(ctx, limit, now)
	if err != nil {
		return Verdict{}, fmt.Errorf("reading limit %q: %w", limit.Key, err)
	}
	left := h.left()
	return Verdict{Allowed: left > 0, Used: h.Max - left, Remaining: left, Resets: h.end()}, nil
}

// read returns the state of a call that has read all write shards, unless they are known to be full.
func (l *Limiter) read(ctx context.Context, limit Limit, now time.Time) (*hit, error) {
	h, err := l.hit(ctx, limit, 1, now)
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
		h.window.total(h.all, begin)
	}
	return err
}

// readFrom reads the write shards of from to below to. last means that a write shard without
// quota stays so.
func (h *hit) readFrom(ctx context.Context, from, to int, consistent, last bool) error {
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
		if used, _ := dynamo.Integer(it, schema.LimitUsed); last && used >= 0 {
			h.window.spend(from+i, h.Max)
		}
	}
	return nil
}

// refreshTime bounds the time of a refresh.
const refreshTime = 250 * time.Millisecond

// refreshUnits bounds the RCU/s that a process spends on reading other processes' use.
const refreshUnits = 8

// refresh reads the use of all write shards, at 0.5 RCU each, if the last reading is too old:
// over 1 s, or longer if refreshUnits require it. After refreshTime it gives up, and Used
// stays as it was.
func (h *hit) refresh(ctx context.Context) {
	every := max(time.Second, time.Duration(h.all)*time.Second/(2*refreshUnits))
	if h.all == 1 || !h.allowed || !h.window.stale(h.now, every) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	_ = h.readAll(ctx, false)
}

// left returns the quota that all write shards have left, at most.
func (h *hit) left() (all int64) {
	for _, quota := range h.window.remaining(&h.division) {
		all += quota
	}
	return all
}

// verdict returns the result of the hits.
func (h *hit) verdict() Verdict {
	v := Verdict{Allowed: h.allowed, Used: h.window.sum(h.Max), Resets: h.end()}
	switch {
	case !h.allowed:
		v.Used = max(v.Used, h.Max-h.left())
	case h.all == 1:
		v.Used = h.used
	default:
		v.Used = max(v.Used, h.hits)
	}
	v.Remaining = max(0, h.Max-v.Used)
	return v
}
