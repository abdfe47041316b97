package partitions

import (
	"slices"
	"sync"
	"time"
)

// Holds has the items that transactions hold, and those of single writes in flight. It is safe for concurrent use.
type Holds struct {
	hold time.Duration // how long a transaction holds its items
	now  func() int64  // nanoseconds

	mu      sync.Mutex        // guards the fields below
	items   map[ItemID]string // client token, or "", of the transaction that holds the item
	order   []heldItem        // the items held by transactions, by the end of their hold
	writing map[ItemID]int    // number of single writes in flight
	tokens  recentTokens
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
	return &Holds{
		hold: hold, now: func() int64 { return now().UnixNano() },
		items: map[ItemID]string{}, writing: map[ItemID]int{},
	}
}

// expire drops the holds that have ended.
func (h *Holds) expire(now int64) {
	for len(h.order) > 0 && h.order[0].until <= now {
		delete(h.items, h.order[0].ItemID)
		h.order = h.order[1:]
	}
}

// Begin holds a transaction's items and returns the end of the hold in Unix nanoseconds, or 0 if it holds none. If
// another transaction holds one of them, Begin holds none, and blocked reports for each item whether it is held; else
// it is nil. A reused client token holds nothing and is not blocked: the engine has its response. "" is no token.
func (h *Holds) Begin(token string, items []ItemID) (until int64, blocked []bool) {
	if h.hold == 0 {
		return 0, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	h.expire(now)
	if token != "" && h.tokens.has(token, now) {
		return 0, nil
	}
	blocked = make([]bool, len(items))
	for i, id := range items {
		holder, ok := h.items[id]
		if ok && token != "" && holder == token {
			return 0, nil
		}
		blocked[i] = ok
	}
	if slices.Contains(blocked, true) {
		return 0, blocked
	}
	until = now + int64(h.hold)
	for _, id := range items {
		h.items[id] = token
		h.order = append(h.order, heldItem{id, until})
	}
	return until, nil
}

// RecordToken records the client token of a transaction that was or may have been applied. It reports
// whether the token was used before; "" is no token.
func (h *Holds) RecordToken(token string) (reused bool) {
	if token == "" {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	reused = h.tokens.has(token, now)
	h.tokens.add(token, now)
	return reused
}

// BeginWrite records a single write until [Holds.EndWrite]. It returns false if a transaction holds the item.
func (h *Holds) BeginWrite(id ItemID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire(h.now())
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

// Busy reports for each item whether a transaction or a write holds it. It returns nil if no item is held.
func (h *Holds) Busy(items []ItemID) []bool {
	if h.hold == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.expire(h.now())
	blocked := make([]bool, len(items))
	for i, id := range items {
		_, held := h.items[id]
		blocked[i] = held || h.writing[id] > 0
	}
	if !slices.Contains(blocked, true) {
		return nil
	}
	return blocked
}

// recentTokens has the client tokens of at least ten minutes, as AWS does, or else at least the last maxTokens.
type recentTokens struct {
	current, previous map[string]bool
	since             int64 // nanoseconds; when current began
}

const (
	tokenTime = 10 * time.Minute
	maxTokens = 100_000
)

func (r *recentTokens) add(token string, now int64) {
	r.rotate(now)
	r.current[token] = true
}

func (r *recentTokens) has(token string, now int64) bool {
	r.rotate(now)
	return r.current[token] || r.previous[token]
}

// rotate starts a new generation if the current one is too old or full.
func (r *recentTokens) rotate(now int64) {
	old := now-r.since >= int64(tokenTime)
	if r.current == nil || old || len(r.current) >= maxTokens {
		r.current, r.previous, r.since = map[string]bool{}, r.current, now
	}
}
