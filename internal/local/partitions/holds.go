package partitions

import (
	"slices"
	"sync"
	"time"
)

// Holds are the items that transactions and writes are at work on. It is safe for
// concurrent use. Nothing is held where transactions take no time.
type Holds struct {
	hold time.Duration // how long a transaction has its items
	now  func() int64  // nanoseconds

	mu      sync.Mutex        // guards what follows
	items   map[ItemID]string // client tokens, of the transactions that have them
	order   []heldItem        // by their end; they all last as long
	writing map[ItemID]int
	tokens  recent
}

// ItemID tells items of all tables apart.
type ItemID struct {
	*Space
	Key string // whole, as text
}

type heldItem struct {
	ItemID
	until int64 // nanoseconds
}

// NewHolds returns holds by a clock. Hold is for how long a transaction has its items; with 0
// nothing is held.
func NewHolds(hold time.Duration, now func() time.Time) *Holds {
	return &Holds{
		hold: hold, now: func() int64 { return now().UnixNano() },
		items: map[ItemID]string{}, writing: map[ItemID]int{},
	}
}

// over drops the holds that have ended.
func (h *Holds) over(now int64) {
	for len(h.order) > 0 && h.order[0].until <= now {
		delete(h.items, h.order[0].ItemID)
		h.order = h.order[1:]
	}
}

// Begin holds a transaction's items from now on, until a time that is 0 if they are
// not held. It holds none if another transaction has one, and tells which those are.
// A client token that has been used belongs to the transaction that it was used for:
// the engine knows what to answer.
func (h *Holds) Begin(token string, items []ItemID) (until int64, met []bool) {
	if h.hold == 0 {
		return 0, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	h.over(now)
	if token != "" && h.tokens.has(token, now) {
		return 0, nil
	}
	met = make([]bool, len(items))
	for i, id := range items {
		holder, ok := h.items[id]
		if ok && token != "" && holder == token {
			return 0, nil
		}
		met[i] = ok
	}
	if slices.Contains(met, true) {
		return 0, met
	}
	until = now + int64(h.hold)
	for _, id := range items {
		h.items[id] = token
		h.order = append(h.order, heldItem{id, until})
	}
	return until, nil
}

// Done notes a transaction that was applied, or may have been.
func (h *Holds) Done(token string) {
	if h.hold == 0 || token == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens.add(token, h.now())
}

// BeginWrite notes a write outside of transactions, which ends with [Holds.EndWrite]. It is
// false for one whose item a transaction has.
func (h *Holds) BeginWrite(id ItemID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over(h.now())
	if _, held := h.items[id]; held {
		return false
	}
	h.writing[id]++
	return true
}

// EndWrite ends a write.
func (h *Holds) EndWrite(id ItemID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.writing[id]--; h.writing[id] == 0 {
		delete(h.writing, id)
	}
}

// Busy tells which items a transaction or a write is at work on, nil for none.
func (h *Holds) Busy(items []ItemID) []bool {
	if h.hold == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over(h.now())
	met := make([]bool, len(items))
	for i, id := range items {
		_, held := h.items[id]
		met[i] = held || h.writing[id] > 0
	}
	if !slices.Contains(met, true) {
		return nil
	}
	return met
}

// recent are client tokens of at least ten minutes, for which AWS knows them, or of
// the last maxTokens.
type recent struct {
	now, before map[string]bool
	since       int64 // nanoseconds; when now began
}

const (
	tokenTime = 10 * time.Minute
	maxTokens = 100_000
)

func (r *recent) add(token string, now int64) {
	r.turn(now)
	r.now[token] = true
}

func (r *recent) has(token string, now int64) bool {
	r.turn(now)
	return r.now[token] || r.before[token]
}

// turn begins anew when the time is over, or the room used up.
func (r *recent) turn(now int64) {
	old := now-r.since >= int64(tokenTime)
	if r.now == nil || old || len(r.now) >= maxTokens {
		r.now, r.before, r.since = map[string]bool{}, r.now, now
	}
}
