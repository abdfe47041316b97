package partitions

import (
	"slices"
	"sync"
	"time"
)

// Holds has the items that transactions hold. It is safe for concurrent use.
type Holds struct {
	hold time.Duration // how long a transaction holds its items
	now  func() int64  // nanoseconds

	mu    sync.Mutex      // guards the fields below
	items map[ItemID]bool // held items
	order []heldItem      // the same, by the end of their hold
}

// ItemID identifies an item among all tables.
type ItemID struct {
	*Space
	Key string // the primary key as text
}

type heldItem struct {
	ItemID
	until int64 // nanoseconds
}

// NewHolds returns empty holds on the clock now. A transaction holds its items for hold; with 0 nothing is held.
func NewHolds(hold time.Duration, now func() time.Time) *Holds {
	return &Holds{hold: hold, now: func() int64 { return now().UnixNano() }, items: map[ItemID]bool{}}
}

// Begin holds a transaction's items and returns the end of the hold in Unix nanoseconds, or 0 if it holds none. If
// another transaction holds one of them, Begin holds none, and blocked is what [Holds.Blocked] returns; else it is nil.
func (h *Holds) Begin(items []ItemID) (until int64, blocked []bool) {
	if h.hold == 0 {
		return 0, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if blocked := h.blocked(items, now); blocked != nil {
		return 0, blocked
	}
	until = now + int64(h.hold)
	for _, id := range items {
		h.items[id] = true
		h.order = append(h.order, heldItem{id, until})
	}
	return until, nil
}

// Blocked reports for each item whether a transaction holds it. It returns nil if no item is held.
func (h *Holds) Blocked(items ...ItemID) []bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.blocked(items, h.now())
}

// blocked does what [Holds.Blocked] does, and drops the holds that have ended. The caller holds h.mu.
func (h *Holds) blocked(items []ItemID, now int64) []bool {
	for len(h.order) > 0 && h.order[0].until <= now {
		delete(h.items, h.order[0].ItemID)
		h.order = h.order[1:]
	}
	blocked := make([]bool, len(items))
	for i, id := range items {
		blocked[i] = h.items[id]
	}
	if !slices.Contains(blocked, true) {
		return nil
	}
	return blocked
}
