package limits

import (
	"context"
	"fmt"
	"math/bits"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// settleTime is how long after a window's end its use is read again, for hits of processes whose clocks are
// behind. Later hits count in their own window only.
const settleTime = 5 * time.Second

// previous is the cached use of the previous window.
type previous struct {
	hits  int64
	read  time.Time // zero if unknown
	final bool
}

// previousHits returns the cached use of the previous window, if it is final or a second old at most.
func (w *limitWindow) previousHits(now time.Time) (int64, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	age := now.Sub(w.previous.read)
	return w.previous.hits, w.previous.final || age >= 0 && age < time.Second
}

func (w *limitWindow) setPrevious(p previous) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.previous.final {
		w.previous = p
	}
}

// weigh lowers Max of a sliding limit's division by the previous window's use, weighted by the part of the
// window that is left. Max rises until the window's end.
func (h *hit) weigh(ctx context.Context) error {
	if !h.Sliding {
		return nil
	}
	hits, known := h.window.previousHits(h.now)
	if !known {
		var err error
		if hits, err = h.readPrevious(ctx); err != nil {
			return fmt.Errorf("reading the previous window of limit %q: %w", h.Key, err)
		}
		h.window.setPrevious(previous{hits, h.now, !h.now.Before(h.start.Add(settleTime))})
	}
	h.before = hits
	h.weight = min(h.most, hits-portion(hits, int64(h.now.Sub(h.start)), int64(h.end().Sub(h.start))))
	h.Max = h.most - h.weight
	return nil
}

// readPrevious reads the hits of the previous window, at 1 RCU for each write shard.
func (h *hit) readPrevious(ctx context.Context) (sum int64, err error) {
	last := h.division
	last.start = h.Start(h.start.Add(-1))
	var keys []dynamo.Item
	for n := range h.entry.Shards(last.start, farAhead) {
		keys = append(keys, last.itemKey(n))
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

// retry returns the earliest time at which the hits fit, if no others are counted until then. used is of this window.
func (h *hit) retry(used int64) time.Time {
	begin, end := h.start, h.end()
	if !h.Sliding {
		return end
	}
	hits, free := h.before, h.most-used-h.n
	if free < 0 { // in the next window, this one is the previous one
		hits, free = used, max(0, h.most-h.n)
		begin, end = end, h.after(end)
	}
	if hits == 0 {
		return begin
	}
	return end.Add(-time.Duration(portion(int64(end.Sub(begin)), min(free, hits), hits)))
}

// portion returns n * part / whole, rounded down; part is at most whole.
func portion(n, part, whole int64) int64 {
	high, low := bits.Mul64(uint64(n), uint64(part))
	quotient, _ := bits.Div64(high, low, uint64(whole))
	return int64(quotient)
}
