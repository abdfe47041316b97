package shardmap_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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
