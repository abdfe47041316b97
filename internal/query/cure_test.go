package query

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// liveHeat is a source of complete windows.
type liveHeat []heat.Item

func (l liveHeat) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for _, it := range l {
			if !it.Start.Before(from) && it.Start.Before(to) && !yield(heat.Window{Start: it.Start, Items: []heat.Item{it}}, nil) {
				return
			}
		}
	}
}

// oneEntry is a shard map with one key.
type oneEntry struct{ shardmap.Entry }

func (o oneEntry) Lookup(_ context.Context, key string, _ time.Time) (shardmap.Entry, error) {
	if key != o.Key {
		return shardmap.Entry{Key: key}, nil
	}
	return o.Entry, nil
}

func (o oneEntry) Since(context.Context, time.Time, time.Time) ([]shardmap.Entry, error) {
	return []shardmap.Entry{o.Entry}, nil
}

func (o oneEntry) Read(context.Context, string) (shardmap.Entry, error) { return o.Entry, nil }
func (o oneEntry) Partitions(string) int                                { return 64 }

// TestHottestKeysNeedTheShardMap checks that the hottest keys are an error if their changes can't be read.
func TestHottestKeysNeedTheShardMap(t *testing.T) {
	now, down := time.Date(2026, 1, 5, 12, 31, 10, 0, time.UTC), errors.New("down")
	entry := oneEntry{shardmap.Entry{Key: "C#a", Version: 1, History: shard.History{{At: now.Add(-time.Minute), Count: 2}}}}
	hot := liveHeat{{Start: now.Add(-30 * time.Second), Window: 10 * time.Second, Limit: 20, HotRate: 14, Units: 9, Keys: []heat.Key{{Key: "C#a#0", Units: 9}}}}
	for _, row := range []failing{{entry, nil, nil, nil}, {entry, down, nil, nil}, {entry, nil, down, nil}, {entry, nil, nil, down}} {
		keys, _, err := NewHeat(hot, HeatOptions{Shards: row}).HotKeys(t.Context(), time.Hour, 10, now)
		if want := cmp.Or(row.since, row.read, row.lookup); !errors.Is(err, want) || want == nil && (len(keys) != 1 || keys[0].Shards != 2) {
			t.Errorf("%+v: %+v, %v, want %v", row, keys, err, want)
		}
		if _, err := NewHeat(hot, HeatOptions{Shards: row}).getHeat(t.Context(), &heatInput{Rows: 9, Group: "base"}, now); (err != nil) != (cmp.Or(row.since, row.read, row.lookup) != nil) {
			t.Errorf("%+v: the map of heat: %v", row, err)
		}
	}
}

// TestAStormIsHotAndThenCooled checks a counter that its writers grew within seconds. Its rate over 10 s is never hot,
// but its heaviest second is. It is listed once, first as hot and then as cooled.
func TestAStormIsHotAndThenCooled(t *testing.T) {
	begin := time.Date(2026, 1, 5, 12, 31, 10, 0, time.UTC)
	window := func(second int, keys ...heat.Key) heat.Item {
		it := heat.Item{Start: begin.Add(time.Duration(second) * time.Second), Window: 10 * time.Second, Limit: 20, HotRate: 14, Keys: keys}
		for _, k := range keys {
			it.Units += k.Units
		}
		return it
	}
	cool := []heat.Key{{Key: "C#viral#10", Units: 30, Peak: 6, PeakAt: begin}, {Key: "C#viral#2", Units: 31, Peak: 6, PeakAt: begin}}
	source := liveHeat{
		window(0, heat.Key{Key: "C#viral#0", Units: 85, Peak: 25, PeakAt: begin.Add(3 * time.Second)}, heat.Key{Key: "C#x#0", Units: 3, Peak: 1, PeakAt: begin}),
		window(10, cool...), window(20, cool...), window(30, cool...),
	}
	changed := func(second, count int) (shard.Change, shardmap.Note) {
		made := begin.Add(time.Duration(second) * time.Second)
		return shard.Change{At: made.Add(5 * time.Second), Count: count}, shardmap.Note{By: "ingest", Why: "throttled", Made: made}
	}
	entry := shardmap.Entry{Key: "C#viral", Version: 2, Updated: begin.Add(6 * time.Second), Notes: make(map[int64]shardmap.Note)}
	for i, count := range []int{4, 58} {
		c, note := changed(4+2*i, count)
		entry.History, entry.Notes[c.At.UnixMilli()] = append(entry.History, c), note
	}
	never := display.Time{}.String()
	for windows, want := range map[int]struct{ status, advice, cooled string }{
		1: {"hot", "Resharded to 58 at 12:31:16; watching whether it cools.", never},
		2: {"hot", "Resharded to 58 at 12:31:16; watching whether it cools.", never},
		4: {"normal", "Cooled: resharded to 58 at 12:31:16, now at 16% of the partition limit. No action needed.", "2026-01-05T12:31:20.000Z"},
	} {
		now := source[windows-1].End().Add(2 * time.Second)
		handler := heatHandler(source[:windows], oneEntry{entry}, &now)
		var keys struct{ Keys []HotKey }
		mustGet(t, handler, "/v1/hot-keys", &keys)
		k := keys.Keys[0]
		if len(keys.Keys) != 2 || k.Name != "viral" || k.Status.String() != want.status || k.Worst != heat.Hot || k.Advice != want.advice || k.CooledAt.String() != want.cooled ||
			k.ShardsBefore != 1 || k.Shards != 58 || k.Peak != 25 || k.Rate != 8.5 || k.ThrottledAt.String() != "2026-01-05T12:31:16.000Z" {
			t.Errorf("after %d windows: %+v", windows, keys.Keys)
		}
		var m struct{ Rows []heat.Row }
		mustGet(t, handler, "/v1/heat?group=base&unfold=C%23viral", &m)
		row := m.Rows[0]
		if row.Key != "C#viral" || row.Status.String() != want.status || row.Worst != heat.Hot || row.CooledAt.String() != want.cooled || len(row.Changes) != 2 || row.Changes[0].Before != 1 ||
			row.Changes[1].Time.String() != "2026-01-05T12:31:16.000Z" || row.Heaviest[len(row.Heaviest)-1-windows] != 8.5 || row.Peak != 25 || row.Shards != 58 {
			t.Errorf("after %d windows: %+v", windows, row)
		}
		var names []string
		for _, one := range row.WriteShards {
			names = append(names, one.Key)
		}
		if got := strings.Join(names, " "); windows > 1 && got != "C#viral#0 C#viral#2 C#viral#10" {
			t.Errorf("after %d windows: the write shards %s", windows, got)
		}
	}
}
