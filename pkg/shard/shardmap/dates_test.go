package shardmap

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestChangesRejectWrongTimes checks that every change rejects a zero time, a time far from the clock, and a clock
// behind the key's newest change. A rejected change writes nothing.
func TestChangesRejectWrongTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &strictMap{enginetest.NewMapTable(10, 0, 0)}
		ahead := time.Duration(0)
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{Clock: func() time.Time { return time.Now().Add(ahead) }})
		seen, err := c.Pin(t.Context(), "C#a", 8, Note{By: "ops"}, time.Now().Add(-4*time.Second))
		if err != nil || seen.Updated.Before(time.Now()) {
			t.Fatalf("Pin of a request that began 4 s ago: %+v, %v; want the clock's time", seen, err)
		}
		calls := map[string]func(time.Time) error{
			"grow":      func(at time.Time) error { _, err := c.GrowFrom(t.Context(), seen, 9, Note{}, at); return err },
			"shrink":    func(at time.Time) error { _, err := c.ShrinkFrom(t.Context(), seen, 2, Note{}, at); return err },
			"pin":       func(at time.Time) error { _, err := c.Pin(t.Context(), "C#a", 3, Note{}, at); return err },
			"unpin":     func(at time.Time) error { _, err := c.Unpin(t.Context(), "C#a", Note{}, at); return err },
			"reset":     func(at time.Time) error { _, err := c.Reset(t.Context(), "C#a", at); return err },
			"forget":    func(at time.Time) error { return c.Forget(t.Context(), "C#a", at) },
			"note":      func(at time.Time) error { return c.NotePartitions(t.Context(), "items", 7, at) },
			"snapshot":  func(at time.Time) error { return c.StoreSnapshot(t.Context(), at) },
			"unchanged": func(at time.Time) error { _, err := c.Pin(t.Context(), "C#a", 8, Note{}, at); return err },
		}
		items := len(f.Items)
		for name, call := range calls {
			for at, want := range map[time.Time]string{{}: "is zero", time.Now().Add(-time.Minute): "behind the clock", time.Now().Add(time.Hour): "ahead of the clock"} {
				if err := call(at); !errors.Is(err, shard.ErrMisused) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s at %v: error %v, want ErrMisused with %q", name, at, err, want)
				}
			}
			ahead = -time.Minute
			if err := call(time.Now().Add(ahead)); name != "note" && name != "snapshot" && (!errors.Is(err, shard.ErrMisused) || !strings.Contains(err.Error(), `clock and that of "ops"`)) {
				t.Errorf("%s by a clock behind the newest change: error %v, want ErrMisused that names both clocks", name, err)
			} else if err == nil {
				items = len(f.Items)
			}
			ahead = 0
		}
		if len(f.Items) != items {
			t.Errorf("%d items, want %d", len(f.Items), items)
		}
	})
}

// TestGrowthHidesPendingDecreases checks that a growth does not wait for pending decreases and lowers no count. The
// history keeps the decreases that the growth hides.
func TestGrowthHidesPendingDecreases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		at := func(d time.Duration) time.Time { return start.Add(LeadTime + d) }
		c := NewChanger(nil, New(nil, "m", Options{}), ChangerOptions{})
		old := Entry{Key: "E#a", Version: 7, History: shard.History{{At: start.Add(-time.Hour), Count: 24}, {At: at(time.Minute), Count: 4}, {At: at(2 * time.Minute), Count: 2}}}
		old.Notes = map[int64]Note{at(time.Minute).UnixMilli(): {Why: "quiet"}}
		const ms = time.Millisecond
		for count, want := range map[int]shard.History{
			96: {{At: at(0), Count: 4}, {At: at(ms), Count: 2}, {At: at(2 * ms), Count: 96}},
			24: {{At: at(0), Count: 4}, {At: at(ms), Count: 2}, {At: at(2 * ms), Count: 24}},
			10: {{At: at(time.Minute), Count: 4}, {At: at(time.Minute + ms), Count: 2}, {At: at(time.Minute + 2*ms), Count: 10}},
			3:  {{At: at(time.Minute), Count: 4}, {At: at(2 * time.Minute), Count: 2}, {At: at(2*time.Minute + ms), Count: 3}},
			2:  {{At: at(time.Minute), Count: 4}, {At: at(2 * time.Minute), Count: 2}, {At: at(2*time.Minute + ms), Count: 2}},
			1:  {{At: at(time.Minute), Count: 4}, {At: at(2 * time.Minute), Count: 2}, {At: at(shrinkLead), Count: 1}},
		} {
			e, err := c.nextEntry(old, count, Note{Why: "busy"}, start)
			if err != nil || !slices.EqualFunc(e.History[1:], want, func(a, b shard.Change) bool { return a.At.Equal(b.At) && a.Count == b.Count }) {
				t.Errorf("%d write shards: history %v, %v; want %v", count, e.History[1:], err, want)
			}
			if e.Notes[want[0].At.UnixMilli()].Why != "quiet" || e.Notes[e.Effective().UnixMilli()].Why != "busy" {
				t.Errorf("%d write shards: notes %v, want those of the decrease and the growth", count, e.Notes)
			}
		}
	})
}

// TestBoundsOfCountsAndHistories checks the counts that a change may set, and which past counts it keeps.
func TestBoundsOfCountsAndHistories(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	c := NewChanger(nil, New(nil, "m", Options{}), ChangerOptions{Keep: time.Hour})
	for count, ok := range map[int]bool{0: false, 1: true, shard.MaxShards: true, shard.MaxShards + 1: false} {
		if _, err := c.nextEntry(Entry{Key: "E#a"}, count, Note{}, now); (err == nil) != ok {
			t.Errorf("%d write shards: %v", count, err)
		}
	}
	h := shard.History{{At: now.Add(-3 * time.Hour), Count: 1}, {At: now.Add(-2 * time.Hour), Count: 2}, {At: now.Add(-time.Hour), Count: 3}, {At: now, Count: 4}}
	if kept := c.pruned(Entry{History: h}, now, false); !slices.Equal(kept, h[1:]) {
		t.Errorf("kept %v, want the changes from %v on: 2 write shards ended an hour ago", kept, h[1])
	}
	for events, want := range map[time.Duration]time.Duration{0: 0, time.Hour: 768 * time.Hour, 768 * time.Hour: 768 * time.Hour, 769 * time.Hour: 769 * time.Hour} {
		if kept := HistoryKept(events); kept != want {
			t.Errorf("events kept for %v: history for %v, want %v", events, kept, want)
		}
	}
}

// TestPendingGrowthIsNotMoved checks that a change which raises no count does not move a pending growth, even by a slow
// clock. If the change is committed late, processes have used the growth's first date.
func TestPendingGrowthIsNotMoved(t *testing.T) {
	at := time.Unix(1_700_000_000, 0).UTC()
	c := NewChanger(nil, New(nil, "m", Options{}), ChangerOptions{})
	old := Entry{Key: "E#a", Pinned: true, History: shard.History{{At: at.Add(-time.Hour), Count: 2}, {At: at, Count: 24}}}
	for count, next := range map[int]time.Time{24: at.Add(time.Millisecond), 5: at.Add(shrinkLead - time.Second)} {
		e, err := c.nextEntry(old, count, Note{}, at.Add(-LeadTime-time.Second))
		if want := append(slices.Clone(old.History), shard.Change{At: next, Count: count}); err != nil || !slices.Equal(e.History, want) {
			t.Errorf("%d write shards: history %v, %v; want %v", count, e.History, err, want)
		}
	}
}

// TestDecreasesTakeEffectLate checks that decreases by every call wait for shrinkLead, except those of kinds whose
// items have no time.
func TestDecreasesTakeEffectLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &strictMap{enginetest.NewMapTable(10, 0, 0)}
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
		for key, lead := range map[string]time.Duration{"E#a": shrinkLead, "R#a": shrinkLead, "C#a": 0, "L#a": 0, "S#a": 0, "acme": shrinkLead} {
			base, _ := schema.ParseBaseKey(key)
			note := Note{Kind: string(base.Type)}
			e, err := c.Pin(t.Context(), key, 24, note, time.Now())
			if err != nil || !e.Effective().Equal(time.Now().Add(LeadTime)) {
				t.Fatalf("%s: %+v, %v", key, e, err)
			}
			time.Sleep(time.Hour)
			if e, err = c.Pin(t.Context(), key, 12, note, time.Now()); err != nil || !e.Effective().Equal(time.Now().Add(LeadTime+lead)) {
				t.Errorf("pinning %s: %+v, %v", key, e, err)
			}
			if e, err = c.Unpin(t.Context(), key, note, time.Now()); err != nil || e.History.At(time.Now().Add(lead)) != 24 {
				t.Errorf("unpinning %s: %+v, %v", key, e, err)
			}
			time.Sleep(time.Hour)
			if e, err = c.ShrinkFrom(t.Context(), e, 6, note, time.Now()); err != nil || !e.Effective().Equal(time.Now().Add(LeadTime+lead)) {
				t.Errorf("shrinking %s: %+v, %v", key, e, err)
			}
			if active := e.Active(time.Now()); active.History.Newest() != 12 || active.Effective().After(time.Now()) {
				t.Errorf("%s has the active changes %v", key, active.History)
			}
		}
	})
}

// TestNamesKeepTheirHistory checks that a caller's own name keeps all changes, whatever its text, and that a counter does
// not.
func TestNamesKeepTheirHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, of := range map[int]schema.Kind{40: schema.OwnTimed, maxTimeless: schema.Counter} {
			f := &strictMap{enginetest.NewMapTable(10, 0, 0)}
			c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
			e, err := c.Lookup(t.Context(), "C#42", time.Now())
			for n := range 40 {
				time.Sleep(time.Second)
				if err == nil {
					e, err = c.GrowFrom(t.Context(), e, n+2, Note{Why: fmt.Sprint(n), Kind: string(of)}, time.Now())
				}
			}
			if err != nil || len(e.History) != want || e.Forgotten != (want < 40) || len(e.Notes) != maxNotes {
				t.Errorf("%d changes with %d notes, want %d: %v; forgotten %t", len(e.History), len(e.Notes), want, err, e.Forgotten)
			}
		}
	})
}
