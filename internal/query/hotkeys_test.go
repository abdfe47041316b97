package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestHotBoards checks that a board is listed once, with the rate of its hottest partition in the index. The table's keys
// with its prefix are players' entries.
func TestHotBoards(t *testing.T) {
	r := newRig(t)
	now := r.now
	r.pin("L#a#b", 4, now.Add(-time.Hour))
	item := heat.Item{
		Start: now.Add(-30 * time.Second), Window: 10 * time.Second, StreamShard: "s", HotRate: 700, Limit: 1000,
		Keys: []heat.Key{
			{Key: "L#a#b#all#3", Units: 8000, Peak: 800, PeakAt: now},
			{Index: schema.ByRank, Key: "L#a#b#2026-W02#3", Units: 7000, Peak: 900, PeakAt: now},
			{Index: schema.ByRank, Key: "L#a#b#2026-W02#2", Units: 6900, Peak: 800, PeakAt: now},
			{Index: schema.ByRank, Key: "L#a#b#2026-W02#1", Units: 6900, Peak: 800, PeakAt: now},
			{Index: schema.ByRank, Key: "L#a#b#2026-W02#0", Units: 6900, Peak: 800, PeakAt: now},
		},
	}
	r.putWindow(item)
	var out struct{ Keys []HotKey }
	if got := r.get("/v1/hot-keys", &out); got != 200 || len(out.Keys) != 2 {
		t.Fatalf("status %d, %+v", got, out.Keys)
	}
	player, board := out.Keys[0], out.Keys[1]
	if player.Type != "other" || player.Index != "" || player.Name != "L#a#b#all#3" || player.Shards != 1 {
		t.Errorf("a player's entry: %+v", player)
	}
	want := "Using at least 70% of a partition's 1,000 WCU/s. Increase from 4 to 16 write shards." // 23 are needed, but the bound for four known partitions is 16
	if board.Type != "board" || board.Index != "by_rank" || board.Name != "a#b" || board.Shards != 4 || board.Rate != 700 || board.Advice != want ||
		board.PeakAt.String() != now.Format(schema.TimeLayout) || board.Hash != keyname.Pseudonym("L#a#b") {
		t.Errorf("a board: %+v", board)
	}
}

// putWindow stores a window in the heat table.
func (r *rig) putWindow(item heat.Item) {
	r.t.Helper()
	r.putHeat(item.Stored(item.End().Add(time.Hour)))
}

// putHeat puts an item into the heat table.
func (r *rig) putHeat(item dynamo.Item) {
	r.t.Helper()
	r.putItem(r.names.Heat, item)
}

// pin pins a shard count. It retries while a busy machine can't make the change within its second.
func (r *rig) pin(key string, n int, now time.Time) {
	r.t.Helper()
	changer := shardmap.NewChanger(r.client, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{Clock: func() time.Time { return now }})
	err := shard.ErrUnavailable
	for tries := 0; errors.Is(err, shard.ErrUnavailable) && tries < 20; tries++ {
		_, err = changer.Pin(r.t.Context(), key, n, shardmap.Note{By: "test", Why: "peak"}, now)
	}
	require.NoError(r.t, err)
}

// TestAnotherTable checks that keys of a table that hotshard did not shard are not parsed.
func TestAnotherTable(t *testing.T) {
	r := newRig(t)
	now := r.now
	item := heat.Item{
		Table: "orders", Start: now.Add(-30 * time.Second), Window: 10 * time.Second, StreamShard: "s", HotRate: 700, Limit: 1000,
		Keys: []heat.Key{{Key: "C#a#0", Units: 8000, Peak: 800, PeakAt: now}},
	}
	r.putWindow(item)
	var out struct{ Keys []HotKey }
	if got := r.get("/v1/hot-keys", &out); got != 200 || len(out.Keys) != 1 {
		t.Fatalf("status %d, %+v", got, out.Keys)
	}
	if k := out.Keys[0]; k.Table != "orders" || k.Type != "other" || k.Name != "C#a#0" || !strings.Contains(k.Advice, "Split it across 7 partition keys") {
		t.Errorf("%+v", k)
	}
}

// TestHotKeyIsDescribedByAllWriteShards checks that the advice for a hot write shard depends on the cool ones,
// although they are not listed. One hot write shard of ten is skew.
func TestHotKeyIsDescribedByAllWriteShards(t *testing.T) {
	r := newRig(t)
	now := r.now
	r.pin("C#a", 10, now.Add(-time.Hour))
	for shard := range 10 {
		item := heat.Item{Start: now.Add(-30 * time.Second), Window: 10 * time.Second, StreamShard: fmt.Sprint("s", shard), HotRate: 700, Limit: 1000}
		for n := range 25 {
			item.Keys = append(item.Keys, heat.Key{Key: fmt.Sprintf("C#%d-%d#0", shard, n), Units: 100, PeakAt: now})
		}
		units := uint64(60)
		if shard == 0 {
			units = 7500
		}
		item.Keys = append(item.Keys, heat.Key{Key: fmt.Sprint("C#a#", shard), Units: units, PeakAt: now})
		r.putWindow(item)
	}
	var out struct{ Keys []HotKey }
	if got := r.get("/v1/hot-keys?limit=1", &out); got != 200 || len(out.Keys) != 1 {
		t.Fatalf("status %d, %+v", got, out.Keys)
	}
	if hot := out.Keys[0]; hot.Key != "C#a#0" || hot.Rate != 750 || hot.Error != 0 || !strings.Contains(hot.Advice, "Its 10 write shards together take 804.0 WCU/s") {
		t.Errorf("%+v", hot)
	}
}

// TestManyHeatItems checks that hot keys of windows on several pages, hours and stream shards are those of heat.Merge.
func TestManyHeatItems(t *testing.T) {
	r := newRig(t)
	now := r.now
	filler := strings.Repeat("x", 500)
	var all []heat.Item
	for i := range 60 {
		item := heat.Item{Start: now.Add(time.Duration(i-60) * 2 * time.Minute), Window: 10 * time.Second, StreamShard: fmt.Sprint("s", i%2), HotRate: 700, Limit: 1000}
		item.Keys = append(item.Keys, heat.Key{Key: "C#a#0", Units: uint64(7000 + i*i%37), Peak: 800, PeakAt: item.Start})
		for n := range 150 {
			item.Keys = append(item.Keys, heat.Key{Key: fmt.Sprint("C#", filler, n, "#0"), Units: 10, Peak: 1, PeakAt: item.Start})
		}
		all = append(all, item)
		r.putWindow(item)
	}
	want := heat.Merge(all)
	for limit, n := range map[int]int{200: len(want), 20: 20, 21: 21} {
		var out struct{ Keys []HotKey }
		if got := r.get(fmt.Sprint("/v1/hot-keys?since=3h&limit=", limit), &out); got != 200 || len(out.Keys) != n {
			t.Fatalf("status %d, %d keys, want %d", got, len(out.Keys), n)
		}
		for i, k := range out.Keys {
			w := want[i]
			if k.Key != w.Key || k.Rate != w.WriteUnitsPerSecond || k.First.String() != w.FirstSeen.Format(schema.TimeLayout) || k.Last.String() != w.LastSeen.Format(schema.TimeLayout) {
				t.Fatalf("limit %d, %d: %+v, want %+v", limit, i, k, w)
			}
		}
	}
}
