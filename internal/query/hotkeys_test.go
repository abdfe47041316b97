package query

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
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
		board.PeakAt.String() != now.Format(schema.TimeLayout) || board.Hash != display.Pseudonym("L#a#b") {
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

// pin pins a shard count.
func (r *rig) pin(key string, n int, now time.Time) {
	r.t.Helper()
	changer := libtest.Patient(shardmap.NewChanger(r.client, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{}))
	_, err := changer.Pin(r.t.Context(), key, n, shardmap.Note{By: "test", Why: "peak"}, now)
	require.NoError(r.t, err)
}
