package limits

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// settleTime is how long after a window's end its hits may still rise, because of processes whose clocks are behind.
// Sliding limits ignore hits that are added later.
const settleTime = 5 * time.Second

// previous has the cached hits of the previous window.
type previous struct {
	hits    int64
	readAt  time.Time // zero if unknown
	isFinal bool      // read settleTime after the window's end
}

// previousHits returns the cached hits of the previous window; ok is false if they are not final and over a second old.
func (w *limitWindow) previousHits(now time.Time) (hits int64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	age := now.Sub(w.previous.readAt)
	isRecent := age >= 0 && age < time.Second
	return w.previous.hits, w.previous.isFinal || isRecent
}

// setPrevious caches the hits of the previous window, unless final ones are cached.
func (w *limitWindow) setPrevious(p previous) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.previous.isFinal {
		w.previous = p
	}
}

// lowerMax lowers Max of a sliding limit's division by the previous window's hits, weighted by the part of the
// window that is left. So Max rises until the window's end.
func (h *hit) lowerMax(ctx context.Context) error {
	if !h.Sliding {
		return nil
	}
	hits, known := h.window.previousHits(h.now)
	if !known {
		var err error
		if hits, err = h.readPrevious(ctx); err != nil {
			return fmt.Errorf("reading the previous window of limit %q: %w", h.Key, err)
		}
		isFinal := !h.now.Before(h.start.Add(settleTime))
		h.window.setPrevious(previous{hits, h.now, isFinal})
	}
	h.previousHits = hits
	h.weight = min(h.fullMax, hits-portion(hits, int64(h.now.Sub(h.start)), int64(h.end().Sub(h.start))))
	h.Max = h.fullMax - h.weight
	return nil
}

// readPrevious reads the hits of the previous window, at 1 RCU for each write shard.
func (h *hit) readPrevious(ctx context.Context) (sum int64, err error) {
	before := h.division
	before.start = h.Start(h.start.Add(-1))
	var keys []dynamo.Item
	for n := range h.entry.Shards(before.start, farAhead) {
		keys = append(keys, before.itemKey(n))
	}
	items, err := dynamo.BatchGet(ctx, h.client, h.table, keys, true)
	for _, it := range items {
		hits, fault := dynamo.Integer(it, schema.LimitHits)
		if fault != nil {
			return 0, fault
		}
		sum += hits
	}
	return sum, err
}

// retryTime returns the earliest time at which the hits fit, if no others are counted until then; used is the number of
// hits in this window. A sliding limit's hits fade in the next window: the number that counts falls evenly to 0 at its end.
func (h *hit) retryTime(used int64) time.Time {
	begin, end := h.start, h.end() // of the window in which fading hits fade
	if !h.Sliding {
		return end
	}
	fading, free := h.previousHits, h.fullMax-used-h.n
	if free < 0 { // they don't fit into this window, whose hits fade in the next one
		fading, free = used, max(0, h.fullMax-h.n)
		begin, end = end, h.nextStart(end)
	}
	if fading == 0 {
		return begin
	}
	beforeEnd := portion(int64(end.Sub(begin)), min(free, fading), fading) // when only free hits still count
	return end.Add(-time.Duration(beforeEnd))
}

// portion returns n * part / whole, rounded down. part is at most whole, and the product may exceed an int64.
func portion(n, part, whole int64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(part))
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int64(quotient)
}
