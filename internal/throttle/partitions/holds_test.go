package partitions

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// plainHold is an admitted transaction or write.
type plainHold struct {
	token string
	items []string
	from  time.Time
	done  bool // a transaction was applied, or a write ended
}

// plainHolds is a naive model that keeps all transactions and writes.
type plainHolds struct {
	hold         time.Duration
	transactions []*plainHold
	writes       []*plainHold
}

// at returns the transaction that holds an item, or nil.
func (p *plainHolds) at(item string, now time.Time) *plainHold {
	for _, h := range p.transactions {
		if now.Before(h.from.Add(p.hold)) && slices.Contains(h.items, item) {
			return h
		}
	}
	return nil
}

func (p *plainHolds) writing(item string) bool {
	return slices.ContainsFunc(p.writes, func(h *plainHold) bool { return !h.done && h.items[0] == item })
}

// begin reports which items conflict, and whether the transaction holds its items.
func (p *plainHolds) begin(token string, items []string, now time.Time) (blocked []bool, held bool) {
	for _, h := range p.transactions {
		known := h.done || slices.ContainsFunc(items, func(i string) bool { return p.at(i, now) == h })
		if token != "" && h.token == token && known {
			return nil, false
		}
	}
	for _, i := range items {
		blocked = append(blocked, p.at(i, now) != nil)
	}
	if slices.Contains(blocked, true) {
		return blocked, false
	}
	p.transactions = append(p.transactions, &plainHold{token: token, items: items, from: now})
	return nil, true
}

// TestHoldsAgainstPlainModel compares conflicts of transactions, writes and reads with the model's.
func TestHoldsAgainstPlainModel(t *testing.T) {
	conflicts := 0
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		model := &plainHolds{hold: 5 * time.Millisecond}
		h := NewHolds(model.hold, func() time.Time { return now })
		s := &Space{}
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 3, rapid.ID)
		ids := func(items []string) (ids []ItemID) {
			for _, i := range items {
				ids = append(ids, ItemID{s, i})
			}
			return ids
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "ms")) * time.Millisecond)
			items := names.Draw(t, "items")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				token := rapid.SampledFrom([]string{"", "t1", "t2", "t3"}).Draw(t, "token")
				until, blocked := h.Begin(token, ids(items))
				want, held := model.begin(token, items, now)
				if !slices.Equal(blocked, want) || (until != 0) != held || held && until != now.Add(model.hold).UnixNano() {
					t.Fatalf("transaction of %v: blocked %v, held until %d; want %v, held: %t", items, blocked, until, want, held)
				}
				if blocked != nil {
					conflicts++
				}
				if held && rapid.Bool().Draw(t, "applied") {
					used := slices.ContainsFunc(model.transactions, func(p *plainHold) bool { return p.done && p.token == token && token != "" })
					if again := h.RecordToken(token); again != used {
						t.Fatalf("RecordToken(%q) = %t, want %t", token, again, used)
					}
					model.transactions[len(model.transactions)-1].done = true
				}
			case 2:
				free := model.at(items[0], now) == nil
				if got := h.BeginWrite(ids(items)[0]); got != free {
					t.Fatalf("BeginWrite(%s) = %t, want %t", items[0], got, free)
				}
				if free {
					model.writes = append(model.writes, &plainHold{items: items[:1]})
				}
			case 3:
				for _, w := range model.writes {
					if !w.done {
						w.done = true
						h.EndWrite(ids(w.items)[0])
						break
					}
				}
			case 4:
				var want []bool
				for _, i := range items {
					want = append(want, model.at(i, now) != nil || model.writing(i))
				}
				if !slices.Contains(want, true) {
					want = nil
				}
				if got := h.Busy(ids(items)); !slices.Equal(got, want) {
					t.Fatalf("Busy(%v) = %v, want %v", items, got, want)
				}
			}
		}
		now = now.Add(model.hold)
		if h.Busy(ids([]string{"a"})); len(h.items) != 0 || len(h.order) != 0 {
			t.Fatalf("%d items are stored after all holds have ended, want none", len(h.items))
		}
	})
	if conflicts == 0 {
		t.Error("no run had a conflict")
	}
}

// TestRecentTokens checks that a token is known for 10 to 20 minutes, and that the number of tokens is bounded.
func TestRecentTokens(t *testing.T) {
	var r recentTokens
	r.add("a", 0)
	for _, now := range []time.Duration{tokenTime - 1, tokenTime, 2*tokenTime - 1} {
		one := recentTokens{r.current, r.previous, r.since}
		if !one.has("a", int64(now)) {
			t.Errorf("the token is unknown after %v", now)
		}
	}
	r.has("a", int64(tokenTime))
	if r.has("a", int64(2*tokenTime)) {
		t.Error("the token is known after 20 minutes")
	}
	for i := range 3 * maxTokens {
		r.add(fmt.Sprint(i), 0)
	}
	if len(r.current)+len(r.previous) > 2*maxTokens || !r.has(fmt.Sprint(3*maxTokens-1), 0) {
		t.Errorf("%d and %d tokens are stored, want at most %d with the newest", len(r.current), len(r.previous), 2*maxTokens)
	}
}
