package shardmap_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestManyGrowersMakeOneChange lets 64 processes answer one storm. The winner's answer
// may be cut off, so the table says whether there was a change.
func TestManyGrowersMakeOneChange(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := wingtest.Later
	const slow = 10 // rounds that a machine may be too slow for
	for round, late := 0, 0; round < 3; {
		made := d.storm(t, 10*(round+1), now)
		entry, err := d.Shards.Read(wingtest.Within(t), "C#hot")
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
	entry, err := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}).Lookup(wingtest.Within(t), "C#hot", now)
	if err != nil || entry.History.Newest() != 30 || entry.Version != 3 || entry.Max != 30 {
		t.Fatalf("got %+v, %v", entry, err)
	}
	if entry, err = d.Shards.Read(wingtest.Within(t), "C#hot"); err != nil || len(entry.Notes) != 3 {
		t.Fatalf("read %+v, %v", entry, err)
	}
}

// storm has 64 processes raise a count at a time, and returns how many say they did.
func (d *deployment) storm(t *testing.T, count int, now time.Time) int {
	t.Helper()
	var wg sync.WaitGroup
	var made atomic.Int64
	for range 64 {
		wg.Go(func() {
			_, err := d.Changer(shardmap.ChangerOptions{}).Grow(wingtest.Within(t), "C#hot", count, wingtest.Note, now)
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

// TestEveryProcessFollowsTheLog: many keys change at once; whoever polls has all.
func TestEveryProcessFollowsTheLog(t *testing.T) {
	d := deploy(t)
	now := wingtest.Later
	follower := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	if entry, err := follower.Lookup(wingtest.Within(t), "C#0", now); err != nil || entry.Most() != 1 {
		t.Fatalf("an empty map: %+v, %v", entry, err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for errs := 0; errs < 50; errs++ {
				_, err := d.Changer(shardmap.ChangerOptions{}).Grow(wingtest.Within(t), fmt.Sprintf("C#%d", i), i+2, wingtest.Note, now)
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
			entry, err := view.Lookup(wingtest.Within(t), fmt.Sprintf("C#%d", i), later)
			if err != nil || entry.History.Newest() != i+2 {
				t.Errorf("%s, key %d: %+v, %v", name, i, entry, err)
			}
		}
	}
}

// TestAShrinkUndoesNoGrowth that came after what it rests on was read.
func TestAShrinkUndoesNoGrowth(t *testing.T) {
	d := deploy(t)
	c := d.Changer(shardmap.ChangerOptions{})
	seen, err := c.Grow(wingtest.Within(t), "C#likes", 16, wingtest.Note, wingtest.Later)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.GrowFrom(wingtest.Within(t), seen, 64, wingtest.Note, wingtest.Later.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	entry, err := c.ShrinkFrom(wingtest.Within(t), seen, 1, wingtest.Note, wingtest.Later.Add(2*time.Second))
	if !errors.Is(err, shardmap.ErrNoChange) || entry.History.Newest() != 64 {
		t.Errorf("shrunk: %+v, %v", entry, err)
	}
}

// TestDailyStormsFitIntoTheLog: where it can't say a key's changes, every process reads the
// key's item, at the same time.
func TestDailyStormsFitIntoTheLog(t *testing.T) {
	d := deploy(t)
	c := d.Changer(shardmap.ChangerOptions{Keep: shardmap.HistoryKept(720 * time.Hour)})
	for key, most := range map[string]int{"C#daily": 30, "L#daily": 30, "E#daily": 40} {
		at, entry := wingtest.Later, shardmap.Entry{Key: key}
		for i := range 40 {
			var err error
			if at = at.Add(time.Hour); i%2 == 0 {
				entry, err = c.Grow(wingtest.Within(t), key, 16, wingtest.Note, at)
			} else {
				entry, err = c.ShrinkFrom(wingtest.Within(t), entry, 2, wingtest.Note, at)
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
	now := wingtest.Later
	entry, err := c.Pin(wingtest.Within(t), "E#e", 8, wingtest.Note, now)
	at := entry.Effective()
	if err != nil || !entry.Pinned || at.Before(now.Add(shardmap.LeadTime)) || entry.History.At(at.Add(-1)) != 1 || entry.History.At(at) != 8 {
		t.Fatalf("pinned: %+v, %v", entry, err)
	}
	now = now.Add(time.Hour)
	if _, err := c.Grow(wingtest.Within(t), "E#e", 20, wingtest.Note, now); !errors.Is(err, shardmap.ErrPinned) {
		t.Errorf("growing a pinned key: %v", err)
	}
	if _, err := c.ShrinkFrom(wingtest.Within(t), entry, 2, wingtest.Note, now); !errors.Is(err, shardmap.ErrPinned) {
		t.Errorf("shrinking a pinned key: %v", err)
	}
	if again, err := c.Pin(wingtest.Within(t), "E#e", 8, wingtest.Note, now); err != nil || again.Version != entry.Version {
		t.Errorf("the same pin again: %v", err)
	}
	for _, bad := range []int{0, -1, 1001} {
		if _, err := c.Pin(wingtest.Within(t), "E#e", bad, wingtest.Note, now); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%d write shards: %v", bad, err)
		}
	}
	if entry, err = c.Unpin(wingtest.Within(t), "E#e", wingtest.Note, now); err != nil || entry.Pinned || entry.History.Newest() != 8 {
		t.Fatalf("unpinned: %+v, %v", entry, err)
	}
	if again, err := c.Unpin(wingtest.Within(t), "E#e", wingtest.Note, now); err != nil || again.Version != entry.Version {
		t.Errorf("unpinned again: %v", err)
	}
	now = now.Add(2 * time.Hour)
	if entry, err = c.ShrinkFrom(wingtest.Within(t), entry, 2, wingtest.Note, now); err != nil || entry.History.Newest() != 2 || entry.Max != 8 {
		t.Fatalf("shrunk: %+v, %v", entry, err)
	}
	if len(entry.History) != 2 || entry.History.At(now) != 8 || len(entry.Notes) != 2 {
		t.Errorf("the history behind the retention: %+v", entry)
	}
}

// TestTheWinnersEntry: of many who answer the same evidence one makes a change. The
// others have it in their views, without a further read.
func TestTheWinnersEntry(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := wingtest.Later
	var made, lost atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			c := d.Changer(shardmap.ChangerOptions{})
			if err := c.Load(wingtest.Within(t), now); err != nil {
				t.Error(err)
			}
			entry, err := c.GrowFrom(wingtest.Within(t), shardmap.Entry{Key: "C#hot"}, 4+i, wingtest.Note, now)
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
			if seen, err := c.Lookup(wingtest.Within(t), "C#hot", now); err != nil || seen.Version != 1 || entry.Version != 1 || seen.History.Newest() != entry.History.Newest() {
				t.Errorf("%+v in the view, of %+v: %v", seen, entry, err)
			}
		})
	}
	wg.Wait()
	if made.Load() > 1 || made.Load()+lost.Load() == 0 {
		t.Errorf("%d made a change, %d lost", made.Load(), lost.Load())
	}
}

// TestRefreshSeesTheNewest, and takes it into the view.
func TestRefreshSeesTheNewest(t *testing.T) {
	d := deploy(t)
	now := wingtest.Later
	view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	if err := view.Load(wingtest.Within(t), now); err != nil {
		t.Fatal(err)
	}
	d.Pin(t, "C#hot", 9, now)
	entry, err := view.Refresh(wingtest.Within(t), "C#hot", now)
	if err != nil || entry.History.Newest() != 9 || !entry.Pinned {
		t.Errorf("%+v, %v", entry, err)
	}
	if seen, err := view.Lookup(wingtest.Within(t), "C#hot", now); err != nil || seen.Version != entry.Version {
		t.Errorf("the view has %+v, %v", seen, err)
	}
	if entry, err = view.Refresh(wingtest.Within(t), "C#never", now); err != nil || entry.Most() != 1 || entry.Version != 0 {
		t.Errorf("a key that never changed: %+v, %v", entry, err)
	}
}

// TestADamagedItemHarmsItsOwnKeyOnly: other keys go on.
func TestADamagedItemHarmsItsOwnKeyOnly(t *testing.T) {
	d := deploy(t)
	d.SetShards(t, "E#bad", "soon:4")
	d.SetShards(t, "E#huge", "1:50000")
	d.SetShards(t, "E#good", "1:4")
	view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	for _, key := range []string{"E#bad", "E#huge"} {
		if _, err := view.Lookup(wingtest.Within(t), key, wingtest.Later); !errors.Is(err, shard.ErrStale) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if entry, err := view.Lookup(wingtest.Within(t), "E#good", wingtest.Later); err != nil || entry.History.Newest() != 4 {
		t.Errorf("the good one: %+v, %v", entry, err)
	}
}
