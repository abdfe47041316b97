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
	h, err := l.hit(ctx, limit, now)
	if err == nil && !h.full() {
		err = h.readAll(ctx, true)
	}
	if err != nil {
		return nil, Verdict{}, fmt.Errorf("hit of limit %q: %w", limit.Key, err)
	}
	n, ok := h.window.choose(&h.division, h.last)
	if !ok {
		return nil, h.verdict(), nil
	}
	h.allowed = true
	v := h.verdict()
	v.Used = h.window.sum(h.Max) + 1
	v.Remaining = max(0, h.Max-v.Used)
	return h.writes(n), v, nil
}

// writes returns the hit's writes, by what was just read. A write shard without quota gets a
// transfer; if too little remains for that, the hit goes to the write shard that has it.
func (h *hit) writes(n int) []shardmap.Write {
	if used, _ := h.window.known(n); n >= h.first && used >= 0 {
		donor, share := h.window.donor(&h.division)
		if share > 1 {
			give, take := h.exchange(n, donor, share)
			return []shardmap.Write{give, take}
		}
		n = donor
	}
	return []shardmap.Write{h.write(n, h.update(n))}
}

// readAll reads the use of all write shards. Those with a share come first: if a consistent
// read finds them full, the others get no more quota, and their use is final.
func (h *hit) readAll(ctx context.Context, consistent bool) error {
	begin := h.window.own.Load()
	err := h.read(ctx, 0, h.first, consistent, false)
	if err == nil && h.all > h.first {
		err = h.read(ctx, h.first, h.all, consistent, consistent && h.sharesFull())
	}
	if err == nil {
		h.window.total(h.all, begin)
	}
	return err
}

// read reads the write shards of from to below to. last means that a write shard without
// quota stays so.
func (h *hit) read(ctx context.Context, from, to int, consistent, last bool) error {
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

// verdict returns the hit's result.
func (h *hit) verdict() Verdict {
	v := Verdict{Allowed: h.allowed, Used: h.window.sum(h.Max), Resets: h.end()}
	switch {
	case !h.allowed:
		v.Used = max(v.Used, h.Max)
	case h.all == 1:
		v.Used = h.used
	default:
		v.Used = max(v.Used, 1)
	}
	v.Remaining = max(0, h.Max-v.Used)
	return v
}
