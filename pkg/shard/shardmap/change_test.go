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
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestManyGrowersMakeOneChange lets 64 processes grow one key. The table shows whether there was a change,
// since the winner's answer may be lost.
func TestManyGrowersMakeOneChange(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	const slow = 10 // rounds that a machine may be too slow for
	for round, late := 0, 0; round < 3; {
		made := d.storm(t, 10*(round+1), now)
		entry, err := d.Shards.Read(libtest.Within(t), "C#hot")
		if err != nil {
			t.Fatal(err)
		}
		if made == 0 && entry.Version == int64(round) && late < slow {
			late++
			continue
		}
		if made > 1 || entry.Version != int64(round+1) {
			t.Fatalf("round %d: %d changes were told of, and now it is %+v", round, made, entry)
		}
		round++
		now = entry.Effective().Add(20 * time.Second)
	}
	entry, err := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}).Lookup(libtest.Within(t), "C#hot", now)
	if err != nil || entry.History.Newest() != 30 || entry.Version != 3 || entry.Max != 30 {
		t.Fatalf("got %+v, %v", entry, err)
	}
	if entry, err = d.Shards.Read(libtest.Within(t), "C#hot"); err != nil || len(entry.Notes) != 3 {
		t.Fatalf("read %+v, %v", entry, err)
	}
}

// storm lets 64 processes raise a count at once, and returns how many report success.
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

// TestEveryProcessFollowsTheLog checks that a poll returns all changes when many keys change at once.
func TestEveryProcessFollowsTheLog(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	follower := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	if entry, err := follower.Lookup(libtest.Within(t), "C#0", now); err != nil || entry.Most() != 1 {
		t.Fatalf("an empty map: %+v, %v", entry, err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for errs := 0; errs < 50; errs++ {
				_, err := libtest.Grow(libtest.Within(t), d.Changer(shardmap.ChangerOptions{}), fmt.Sprintf("C#%d", i), i+2, now)
				if err == nil || errors.Is(err, shardmap.ErrNoChange) { // its answer was cut off
					return
				}
			}
			t.Errorf("key %d was not grown", i)
		})
	}
	wg.Wait()
	later := now.Add(shardmap.ViewAge + time.Millisecond)
	for name, view := range map[string]*shardmap.Map{"follower": follower, "newcomer": shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})} {
		for i := range 8 {
			entry, err := view.Lookup(libtest.Within(t), fmt.Sprintf("C#%d", i), later)
			if err != nil || entry.History.Newest() != i+2 {
				t.Errorf("%s, key %d: %+v, %v", name, i, entry, err)
			}
		}
	}
}

// TestAShrinkUndoesNoGrowth checks that a shrink fails if the key grew after the evidence was read.
func TestAShrinkUndoesNoGrowth(t *testing.T) {
	d := deploy(t)
	c := d.Changer(shardmap.ChangerOptions{})
	seen, err := libtest.Grow(libtest.Within(t), c, "C#likes", 16, libtest.Later)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GrowFrom(libtest.Within(t), seen, 64, libtest.Note, libtest.Later.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	entry, err := c.ShrinkFrom(libtest.Within(t), seen, 1, libtest.Note, libtest.Later.Add(2*time.Second))
	if !errors.Is(err, shardmap.ErrNoChange) || entry.History.Newest() != 64 {
		t.Errorf("shrunk: %+v, %v", entry, err)
	}
}

// TestDailyStormsFitIntoTheLog checks that only keys whose items have a time keep more than 30 changes.
func TestDailyStormsFitIntoTheLog(t *testing.T) {
	d := deploy(t)
	c := d.Changer(shardmap.ChangerOptions{Keep: shardmap.HistoryKept(720 * time.Hour)})
	for key, most := range map[string]int{"C#daily": 30, "L#daily": 30, "E#daily": 40} {
		at, entry, note := libtest.Later, shardmap.Entry{Key: key}, libtest.Note
		base, err := schema.ParseBaseKey(key)
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
		t.Errorf("the history behind the retention: %+v", entry)
	}
}

// TestTheWinnersEntry checks that of many changers one makes a change, and that the others' views have it
// without another read.
func TestTheWinnersEntry(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	var made, lost atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			c := d.Changer(shardmap.ChangerOptions{})
			if err := c.Load(libtest.Within(t), now); err != nil {
				t.Error(err)
			}
			entry, err := c.GrowFrom(libtest.Within(t), shardmap.Entry{Key: "C#hot"}, 4+i, libtest.Note, now)
			switch {
			case err == nil:
				made.Add(1)
			case errors.Is(err, shardmap.ErrNoChange):
				lost.Add(1)
			case errors.Is(err, shard.ErrUnavailable), errors.Is(err, shard.ErrThrottled): // the machine is busy
				return
			default:
				t.Error(err)
			}
			if seen, err := c.Lookup(libtest.Within(t), "C#hot", now); err != nil || seen.Version != 1 || entry.Version != 1 || seen.History.Newest() != entry.History.Newest() {
				t.Errorf("%+v in the view, of %+v: %v", seen, entry, err)
			}
		})
	}
	wg.Wait()
	if made.Load() > 1 || made.Load()+lost.Load() == 0 {
		t.Errorf("%d made a change, %d lost", made.Load(), lost.Load())
	}
}

// TestRefreshSeesTheNewest checks that Refresh returns the newest entry and adds it to the view.
func TestRefreshSeesTheNewest(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	if err := view.Load(libtest.Within(t), now); err != nil {
		t.Fatal(err)
	}
	d.Pin(t, "C#hot", 9, now)
	entry, err := view.Refresh(libtest.Within(t), "C#hot", now)
	if err != nil || entry.History.Newest() != 9 || !entry.Pinned {
		t.Errorf("%+v, %v", entry, err)
	}
	if seen, err := view.Lookup(libtest.Within(t), "C#hot", now); err != nil || seen.Version != entry.Version {
		t.Errorf("the view has %+v, %v", seen, err)
	}
	if entry, err = view.Refresh(libtest.Within(t), "C#never", now); err != nil || entry.Most() != 1 || entry.Version != 0 {
		t.Errorf("a key that never changed: %+v, %v", entry, err)
	}
}

// TestADamagedItemHarmsItsOwnKeyOnly checks that other keys can still be changed.
func TestADamagedItemHarmsItsOwnKeyOnly(t *testing.T) {
	d := deploy(t)
	d.SetShards(t, "E#bad", "soon:4")
	d.SetShards(t, "E#huge", "1:50000")
	d.SetShards(t, "E#good", "1:4")
	view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	for _, key := range []string{"E#bad", "E#huge"} {
		if _, err := view.Lookup(libtest.Within(t), key, libtest.Later); !errors.Is(err, shard.ErrStale) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if entry, err := view.Lookup(libtest.Within(t), "E#good", libtest.Later); err != nil || entry.History.Newest() != 4 {
		t.Errorf("the good one: %+v, %v", entry, err)
	}
}
