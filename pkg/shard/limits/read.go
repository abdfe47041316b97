package limits

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

// HitTransact returns Hit's writes as actions of a transaction, on condition that
// there still is room, and the verdict that holds if it is made: one, or two where a
// write shard takes over room; none for a hit that is refused. It reads all write
// shards consistently, a read unit each. Package once calls it anew when the room was gone,
// and then the verdict may be another.
func (l *Limiter) HitTransact(ctx context.Context, limit Limit, now time.Time) ([]types.TransactWriteItem, Verdict, error) {
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
	v.Used = h.window.sum() + 1
	v.Remaining = max(0, h.Max-v.Used)
	return h.actions(n), v, nil
}

// actions are the writes that take room of a write shard, by what was just read. One
// without any takes it over; where too little is left for that, the hit goes to the
// one that has it.
func (h *hit) actions(n int) []types.TransactWriteItem {
	if used, _ := h.window.known(n); n >= h.first && used >= 0 {
		donor, share := h.window.donor(&h.division)
		if share > 1 {
			return h.exchange(n, donor, share)
		}
		n = donor
	}
	return []types.TransactWriteItem{{Update: h.update(n)}}
}

// readAll reads what all write shards have used. Those with a part come first: if a
// consistent read finds them full, what it finds of the others after that is final.
func (h *hit) readAll(ctx context.Context, consistent bool) error {
	begin := h.window.own.Load()
	err := h.read(ctx, 0, h.first, consistent, false)
	if err == nil && h.all > h.first {
		err = h.read(ctx, h.first, h.all, consistent, consistent && h.partsFull())
	}
	if err == nil {
		h.window.total(h.all, begin)
	}
	return err
}

// read reads the write shards of from to below to. Last tells that what has no room
// now won't have any.
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
		if err := h.saw(from+i, it); err != nil {
			return err
		}
		if used, _ := dynamo.Integer(it, schema.LimitUsed); last && used >= 0 {
			h.window.spend(from+i, h.Max)
		}
	}
	return nil
}

// refreshTime bounds a refresh.
const refreshTime = 250 * time.Millisecond

// refreshUnits is how many read units a second a process spends at most to know what others
// used.
const refreshUnits = 8

// refresh reads what others used, when the last reading is too old: a second, or as long as
// refreshUnits demand, at half a unit for each write shard. It takes no longer than it is
// worth; without it, less is known.
func (h *hit) refresh(ctx context.Context) {
	every := max(time.Second, time.Duration(h.all)*time.Second/(2*refreshUnits))
	if h.all == 1 || !h.allowed || !h.window.stale(h.now, every) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	_ = h.readAll(ctx, false)
}

// verdict says what became of the hit.
func (h *hit) verdict() Verdict {
	v := Verdict{Allowed: h.allowed, Used: h.window.sum(), Resets: h.end()}
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
