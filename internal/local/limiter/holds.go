package limiter

import (
	"context"
	"slices"
	"time"
)

// holds are the items that transactions and writes are at work on. All are empty
// where transactions take no time.
type holds struct {
	items   map[itemID]string // client tokens, of the transactions that have them
	order   []heldItem        // by their end; they all last as long
	writing map[itemID]int
	tokens  recent
}

// itemID tells items of all tables apart.
type itemID struct {
	*space
	key string // whole, as text
}

type heldItem struct {
	itemID
	until int64 // nanoseconds
}

func newHolds() *holds {
	return &holds{items: map[itemID]string{}, writing: map[itemID]int{}}
}

// over drops the holds that have ended.
func (h *holds) over(now int64) {
	for len(h.order) > 0 && h.order[0].until <= now {
		delete(h.items, h.order[0].itemID)
		h.order = h.order[1:]
	}
}

// begin holds a transaction's items from now on, until a time that is 0 if they are
// not held. It holds none if another transaction has one, and tells which those are.
// A client token that has been used belongs to the transaction that it was used for:
// the engine knows what to answer.
func (l *Limiter) begin(token string, items []itemID) (until int64, met []bool) {
	if l.options.TransactionHold == 0 {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.holds.over(now)
	if token != "" && l.holds.tokens.has(token, now) {
		return 0, nil
	}
	met = make([]bool, len(items))
	for i, id := range items {
		holder, ok := l.holds.items[id]
		if ok && token != "" && holder == token {
			return 0, nil
		}
		met[i] = ok
	}
	if slices.Contains(met, true) {
		return 0, met
	}
	until = now + int64(l.options.TransactionHold)
	for _, id := range items {
		l.holds.items[id] = token
		l.holds.order = append(l.holds.order, heldItem{id, until})
	}
	return until, nil
}

// done notes a transaction that was applied, or may have been.
func (l *Limiter) done(token string) {
	if l.options.TransactionHold == 0 || token == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds.tokens.add(token, l.now())
}

// wait returns when a hold ends.
func (l *Limiter) wait(ctx context.Context, until int64) {
	if d := until - l.now(); until != 0 && d > 0 {
		l.options.Sleep(ctx, time.Duration(d))
	}
}

// beginWrite notes a write outside of transactions, which ends with endWrite. It is
// false for one whose item a transaction has.
func (l *Limiter) beginWrite(id itemID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds.over(l.now())
	if _, held := l.holds.items[id]; held {
		return false
	}
	l.holds.writing[id]++
	return true
}

func (l *Limiter) endWrite(id itemID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holds.writing[id]--; l.holds.writing[id] == 0 {
		delete(l.holds.writing, id)
	}
}

// busy tells which items a transaction or a write is at work on, nil for none.
func (l *Limiter) busy(items []itemID) []bool {
	if l.options.TransactionHold == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds.over(l.now())
	met := make([]bool, len(items))
	for i, id := range items {
		_, held := l.holds.items[id]
		met[i] = held || l.holds.writing[id] > 0
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
