package shardmap_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestManyGrowersMakeOneChange checks that 64 processes that grow one key at once make one change. The test counts
// changes in the table, because the winner's result may be ambiguous.
func TestManyGrowersMakeOneChange(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	const maxSlow = 10 // rounds in which a slow machine may time out all 64 growths
	for round, late := 0, 0; round < 3; {
		made := d.storm(t, 10*(round+1), now)
		entry, err := d.Shards.Read(libtest.Within(t), "C#hot")
		require.NoError(t, err)
		if made == 0 && entry.Version == int64(round) && late < maxSlow {
			late++
			continue
		}
		if made > 1 || entry.Version != int64(round+1) {
			t.Fatalf("round %d: %d processes report a change, and the entry is %+v; want version %d", round, made, entry, round+1)
		}
		round++
		now = entry.Effective().Add(20 * time.Second)
	}
	entry, err := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}).Lookup(libtest.Within(t), "C#hot", now)
	if err != nil || entry.History.Newest() != 30 || entry.Version != 3 || entry.Max != 30 {
		t.Fatalf("a new view has %+v, %v; want version 3 with 30 write shards", entry, err)
	}
	if entry, err = d.Shards.Read(libtest.Within(t), "C#hot"); err != nil || len(entry.Notes) != 3 {
		t.Fatalf("the item is %+v, %v; want 3 notes", entry, err)
	}
}

// storm lets 64 processes raise a count at once and returns how many report success.
func (d *deployment) storm(t *testing.T, count int, now time.Time) int {
	t.Helper()
	var wg sync.WaitGroup
	var made atomic.Int64
	for range 64 {
		wg.Go(func() {
			_, err := libtest.Grow(libtest.Within(t), d.Changer(shardmap.ChangerOptions{}), "C#hot", count, now)
			switch {
			case err == nil:
				made.Add(1)
			case !errors.Is(err, shardmap.ErrNoChange) && !errors.Is(err, shard.ErrUnavailable):
				t.Errorf("to %d: %v", count, err)
			}
		})
	}
	wg.Wait()
	return int(made.Load())
}

// TestPollHasAllConcurrentChanges checks that a held and a new view have all changes of eight keys at once.
func TestPollHasAllConcurrentChanges(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	held := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	if entry, err := held.Lookup(libtest.Within(t), "C#0", now); err != nil || entry.Most() != 1 {
		t.Fatalf("an empty map: %+v, %v", entry, err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for errs := 0; errs < 50; errs++ {
				_, err := libtest.Grow(libtest.Within(t), d.Changer(shardmap.ChangerOptions{}), fmt.Sprintf("C#%d", i), i+2, now)
				if err == nil || errors.Is(err, shardmap.ErrNoChange) { // the change was made, and its answer was lost
					return
				}
			}
			t.Errorf("key %d was not grown", i)
		})
	}
	wg.Wait()
	later := now.Add(shardmap.ViewAge + time.Millisecond)
	for name, view := range map[string]*shardmap.Map{"held": held, "new": shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})} {
		for i := range 8 {
			entry, err := view.Lookup(libtest.Within(t), fmt.Sprintf("C#%d", i), later)
			if err != nil || entry.History.Newest() != i+2 {
				t.Errorf("%s view, key %d: %+v, %v; want %d write shards", name, i, entry, err, i+2)
			}
		}
	}
}

// TestShrinkFailsAfterGrowth checks that a shrink fails if another process grew the key after the evidence was
// read. The loser's view then has the winner's entry without another poll.
func TestShrinkFailsAfterGrowth(t *testing.T) {
	d := deploy(t)
	c, loser := d.Changer(shardmap.ChangerOptions{}), d.Changer(shardmap.ChangerOptions{})
	seen, err := libtest.Grow(libtest.Within(t), c, "C#likes", 16, libtest.Later)
	require.NoError(t, err)
	require.NoError(t, loser.Load(libtest.Within(t), libtest.Later.Add(time.Second)))
	if _, err := c.GrowFrom(libtest.Within(t), seen, 64, libtest.Note, libtest.Later.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	now := libtest.Later.Add(2 * time.Second)
	entry, err := loser.ShrinkFrom(libtest.Within(t), seen, 1, libtest.Note, now)
	if !errors.Is(err, shardmap.ErrNoChange) || entry.History.Newest() != 64 {
		t.Errorf("ShrinkFrom = %+v, %v; want 64 write shards and ErrNoChange", entry, err)
	}
	if got, err := loser.Lookup(libtest.Within(t), "C#likes", now); err != nil || got.Version != entry.Version {
		t.Errorf("the loser's view has %+v, %v; want %+v", got, err, entry)
	}
}

// TestTimelessKeysKeepThirtyChanges checks that only keys whose items have a time keep more than 30 changes.
func TestTimelessKeysKeepThirtyChanges(t *testing.T) {
	d := deploy(t)
	c := d.Changer(shardmap.ChangerOptions{Keep: shardmap.HistoryKept(720 * time.Hour)})
	for key, most := range map[string]int{"C#daily": 30, "L#daily": 30, "E#daily": 40} {
		at, entry, note := libtest.Later, shardmap.Entry{Key: key}, libtest.Note
		base, err := schema.ParseBaseKey(key)
		require.NoError(t, err)
		note.Kind = string(base.Type)
		for i := range 40 {
			if at = at.Add(time.Hour); i%2 == 0 {
				entry, err = c.GrowFrom(libtest.Within(t), entry, 16, note, at)
			} else {
				entry, err = c.ShrinkFrom(libtest.Within(t), entry, 2, note, at)
			}
			if err != nil || entry.Max != 16 {
				t.Fatalf("%s: %+v, %v", key, entry, err)
			}
		}
		if len(entry.History) != most {
			t.Errorf("%s: %d changes, want %d", key, len(entry.History), most)
		}
	}
}

// TestPins checks that a pinned key's count is changed only by pins, until it is unpinned.
func TestPins(t *testing.T) {
	d := deploy(t)
	c := d.Changer(shardmap.ChangerOptions{Keep: time.Hour})
	now := libtest.Later
	entry, err := c.Pin(libtest.Within(t), "E#e", 8, libtest.Note, now)
	at := entry.Effective()
	if err != nil || !entry.Pinned || at.Before(now.Add(shardmap.LeadTime)) || entry.History.At(at.Add(-1)) != 1 || entry.History.At(at) != 8 {
		t.Fatalf("pinned: %+v, %v", entry, err)
	}
	now = now.Add(time.Hour)
	if _, err := libtest.Grow(libtest.Within(t), c, "E#e", 20, now); !errors.Is(err, shardmap.ErrPinned) {
		t.Errorf("growing a pinned key: %v", err)
	}
	if _, err := c.ShrinkFrom(libtest.Within(t), entry, 2, libtest.Note, now); !errors.Is(err, shardmap.ErrPinned) {
		t.Errorf("shrinking a pinned key: %v", err)
	}
	if again, err := c.Pin(libtest.Within(t), "E#e", 8, libtest.Note, now); err != nil || again.Version != entry.Version {
		t.Errorf("the same pin again: %v", err)
	}
	for _, bad := range []int{0, -1, 1001} {
		if _, err := c.Pin(libtest.Within(t), "E#e", bad, libtest.Note, now); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%d write shards: %v", bad, err)
		}
	}
	if entry, err = c.Unpin(libtest.Within(t), "E#e", libtest.Note, now); err != nil || entry.Pinned || entry.History.Newest() != 8 {
		t.Fatalf("unpinned: %+v, %v", entry, err)
	}
	if again, err := c.Unpin(libtest.Within(t), "E#e", libtest.Note, now); err != nil || again.Version != entry.Version {
		t.Errorf("unpinned again: %v", err)
	}
	now = now.Add(2 * time.Hour)
	if entry, err = c.ShrinkFrom(libtest.Within(t), entry, 2, libtest.Note, now); err != nil || entry.History.Newest() != 2 || entry.Max != 8 {
		t.Fatalf("shrunk: %+v, %v", entry, err)
	}
	if len(entry.History) != 2 || entry.History.At(now) != 8 || len(entry.Notes) != 2 {
		t.Errorf("%+v; want a history and notes without the change that is older than Keep", entry)
	}
}

// TestRefreshUpdatesView checks that Refresh returns a key's newest entry and adds it to the view.
func TestRefreshUpdatesView(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	require.NoError(t, view.Load(libtest.Within(t), now))
	d.Pin(t, "C#hot", 9, now)
	entry, err := view.Refresh(libtest.Within(t), "C#hot")
	if err != nil || entry.History.Newest() != 9 || !entry.Pinned {
		t.Errorf("Refresh = %+v, %v; want 9 pinned write shards", entry, err)
	}
	if seen, err := view.Lookup(libtest.Within(t), "C#hot", now); err != nil || seen.Version != entry.Version {
		t.Errorf("the view has %+v, %v; want %+v", seen, err, entry)
	}
	if entry, err = view.Refresh(libtest.Within(t), "C#never"); err != nil || entry.Most() != 1 || entry.Version != 0 {
		t.Errorf("a key that never changed: %+v, %v", entry, err)
	}
}

// TestDamagedItemFailsLookupsOfItsKey checks that an unreadable history fails lookups of its own key only.
func TestDamagedItemFailsLookupsOfItsKey(t *testing.T) {
	d := deploy(t)
	d.SetShards(t, "E#bad", "soon:4")
	d.SetShards(t, "E#huge", "1:50000")
	d.SetShards(t, "E#good", "1:4")
	view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	for _, key := range []string{"E#bad", "E#huge"} {
		if _, err := view.Lookup(libtest.Within(t), key, libtest.Later); !errors.Is(err, shard.ErrStale) {
			t.Errorf("%s: error %v, want ErrStale", key, err)
		}
	}
	if entry, err := view.Lookup(libtest.Within(t), "E#good", libtest.Later); err != nil || entry.History.Newest() != 4 {
		t.Errorf("E#good: %+v, %v; want 4 write shards", entry, err)
	}
}
