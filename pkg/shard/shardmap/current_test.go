package shardmap

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestCurrentHasAllChangesBeforeTheCall checks that calls share a read which begins after they came, and that the view gets
// its entry. A read takes 100 ms.
func TestCurrentHasAllChangesBeforeTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &counted{MapTable: enginetest.NewMapTable(10, 0, 0)}
		m := New(f, "m", Options{})
		if err := m.Load(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		f.Answer(0, 100*time.Millisecond)
		var calls sync.WaitGroup
		call := func(want int) {
			calls.Go(func() {
				if e, err := m.Current(t.Context(), "E#a"); err != nil || e.History.Newest() != want {
					t.Errorf("%d write shards, %v; want %d", e.History.Newest(), err, want)
				}
			})
		}
		call(8) // the fake answers at the end of the read
		time.Sleep(50 * time.Millisecond)
		change(f.MapTable, 1, "E#a", 8)
		for range 5 {
			call(24)
		}
		time.Sleep(60 * time.Millisecond)
		change(f.MapTable, 2, "E#a", 24)
		calls.Wait()
		if f.gets != 2 {
			t.Errorf("%d reads for 6 calls, want 2", f.gets)
		}
		if e, err := m.Lookup(t.Context(), "E#a", time.Now()); err != nil || e.Version != 2 || len(m.reads) != 0 {
			t.Errorf("the view has version %d, %v; want 2, and no read in flight of %d", e.Version, err, len(m.reads))
		}
		f.Mu.Lock()
		there := f.Items[enginetest.ItemSlot(mapKey("E#a"))]
		delete(f.Items, enginetest.ItemSlot(there))
		f.Mu.Unlock()
		if e, err := m.Current(t.Context(), "E#a"); err != nil || e.Version != 0 || m.current().findEntry("E#a").Version != 0 {
			t.Errorf("a key whose item is gone: %+v, %v, and version %d in the view", e, err, m.current().findEntry("E#a").Version)
		}
		f.Mu.Lock()
		f.Put(there)
		there[attrHistory] = newForm
		f.Mu.Unlock()
		if _, err := m.Current(t.Context(), "E#a"); !errors.Is(err, shard.ErrStale) {
			t.Errorf("an unreadable entry: error %v, want ErrStale", err)
		}
		if _, err := m.Current(t.Context(), ""); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("an empty key: error %v, want ErrMisused", err)
		}
		f.Answer(0, time.Hour)
		began := time.Now()
		if _, err := m.Current(t.Context(), "E#b"); !errors.Is(err, shard.ErrStale) || time.Since(began) <= time.Second || time.Since(began) > 2*time.Second {
			t.Errorf("a read that hangs: error %v after %v, want ErrStale after 2 s at most", err, time.Since(began))
		}
	})
}

// TestLateCommitsAreKnownAfterLookBack checks that a busy process has a change within LookBack and ViewAge after its commit,
// although the change is dated up to LateTime before.
func TestLateCommitsAreKnownAfterLookBack(t *testing.T) {
	for _, late := range []time.Duration{0, 6 * time.Second, LateTime} {
		synctest.Test(t, func(t *testing.T) {
			f := enginetest.NewMapTable(10, 0, 0)
			m := New(f, "m", Options{})
			known := func() bool {
				e, err := m.Lookup(t.Context(), "E#a", time.Now())
				return err == nil && e.Version == 1
			}
			for range 33 { // so that the last look back was some time ago
				known()
				time.Sleep(300 * time.Millisecond)
			}
			e := Entry{Key: "E#a", History: shard.History{{At: time.Now(), Count: 8}}, Max: 8, Version: 1, Updated: entryTime(time.Now().Add(-late))}
			f.Mu.Lock()
			f.Put(e.attributes())
			for _, action := range new(tableReader).logPuts(e) {
				f.Put(action.Put.Item)
			}
			f.Mu.Unlock()
			committed := time.Now()
			for !known() && time.Since(committed) < time.Hour {
				time.Sleep(100 * time.Millisecond)
			}
			if after := time.Since(committed); after > LookBack+ViewAge+200*time.Millisecond {
				t.Errorf("a change that is committed %v late is known after %v, want %v at most", late, after, LookBack+ViewAge)
			}
		})
	}
}

// TestCountOfNew checks the count for new items, and the entry by which their attempts are evidence.
func TestCountOfNew(t *testing.T) {
	at := func(d time.Duration, n int) shard.Change {
		return shard.Change{At: time.Unix(1_800_000_000, 0).Add(d), Count: n}
	}
	for name, c := range map[string]struct {
		h            shard.History
		want, newest int
	}{
		"never changed":                   {nil, 1, 1},
		"grown":                           {shard.History{at(-time.Hour, 24)}, 24, 24},
		"a growth takes effect now":       {shard.History{at(0, 24)}, 24, 24},
		"a growth within the margin":      {shard.History{at(-time.Hour, 4), at(Margin, 24)}, 24, 24},
		"a growth after the margin":       {shard.History{at(-time.Hour, 4), at(Margin+1, 24)}, 4, 24},
		"a decrease within the margin":    {shard.History{at(-time.Hour, 24), at(Margin, 4)}, 24, 24},
		"a decrease in effect":            {shard.History{at(-time.Hour, 24), at(0, 4)}, 4, 4},
		"a growth, then a decrease":       {shard.History{at(0, 4), at(5*time.Second, 24), at(3*time.Minute, 2)}, 24, 24},
		"a decrease hidden by a growth":   {shard.History{at(-time.Hour, 24), at(time.Second, 4), at(time.Second+1, 64)}, 64, 64},
		"a decrease hidden, then lowered": {shard.History{at(-time.Hour, 24), at(time.Second, 4), at(time.Second+1, 16)}, 24, 24},
	} {
		e := Entry{History: c.h}
		now := time.Unix(1_800_000_000, 0)
		active := e.ActiveOfNew(now)
		if got := e.CountOfNew(now); got != c.want || active.History.Newest() != c.newest || !slices.Equal(active.History, c.h[:len(active.History)]) {
			t.Errorf("%s: %d write shards, the newest of the active entry %d; want %d and %d", name, got, active.History.Newest(), c.want, c.newest)
		}
	}
}

// TestMarginCoversEveryLead checks the relations of the map's times.
func TestMarginCoversEveryLead(t *testing.T) {
	longest := Options{ViewAge: MaxViewAge, EventAhead: MaxEventAhead}.lead()
	if LeadTime > 4250*time.Millisecond || longest > Margin || LateMargin < Margin+LateTime+LookBack || loadBack < LateTime+LookBack || shrinkLead < LateTime+LookBack+MaxViewAge || Unsettled < Margin+longest {
		t.Errorf("lead %v, longest %v, margins %v and %v", LeadTime, longest, Margin, LateMargin)
	}
}
