package hotkeys

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// hidden returns the items of a 10 s window, one for each stream shard. In each, an unlisted key took up to 20 units of
// the table, and up to 1 unit of an index.
func hidden(streamShards int, at time.Time) (items []heat.Item) {
	for s := range streamShards {
		items = append(items, heat.Item{Start: at, Window: 10 * time.Second, StreamShard: fmt.Sprint(s), Rest: 20, IndexRest: 1})
	}
	return items
}

// peak returns a key's upper bound for its heaviest window, in WCU/s, by the items of one window.
func peak(base schema.BaseKey, writeShards int, items []heat.Item) float64 {
	c := candidate{shardmap.Entry{Key: base.String(), History: shard.History{{At: noon.Add(-48 * time.Hour), Count: writeShards}}}, PastLoad{Base: base, From: items[0].Start}}
	all := newPastLoads([]candidate{c})
	all.addWindow(items, items[0].End())
	return all[base].Peak
}

// TestPeakOfUnlistedWriteShards checks that an unlisted write shard counts up to the two highest rests of all stream
// shards, and a listed one its units and error. Items of one stream shard are summed.
func TestPeakOfUnlistedWriteShards(t *testing.T) {
	base := schema.BaseKey{Type: schema.Counter, Name: "k"}
	part := func(streamShard, part string, rest uint64, keys ...heat.Key) heat.Item {
		return heat.Item{Start: noon, Window: 10 * time.Second, StreamShard: streamShard, Part: part, Rest: rest, Keys: keys}
	}
	key := heat.Key{Key: "C#k#0", Units: 100, Err: 5}
	for name, c := range map[string]struct {
		items []heat.Item
		want  float64 // units of both write shards in the window
	}{
		"two items of one":     {[]heat.Item{part("a", "1", 20), part("b", "", 25), part("a", "2", 10), part("c", "", 27)}, 2 * (30 + 27)},
		"the highest is last":  {[]heat.Item{part("a", "", 1), part("b", "", 2), part("c", "", 3)}, 2 * (2 + 3)},
		"the highest is first": {[]heat.Item{part("a", "", 3), part("b", "", 2), part("c", "", 1)}, 2 * (2 + 3)},
		"listed":               {[]heat.Item{part("a", "", 20, key), part("b", "", 25), part("c", "", 3)}, 105 + 25 + (20 + 25)},
		"listed across a split": {
			[]heat.Item{part("a", "", 20, key), part("b", "", 25, key), part("c", "", 3)}, 2*105 + 0 + (20 + 25),
		},
		"no stream shard": {[]heat.Item{part("", "1", 20), part("", "2", 25), part("", "3", 3)}, 2 * (20 + 25 + 3)},
	} {
		if got := peak(base, 2, c.items); got != c.want/10 {
			t.Errorf("%s: %v WCU/s, want %v", name, got, c.want/10)
		}
	}
}

// TestPeakOfTimeBuckets checks that write shards count for each time bucket that a window touches.
func TestPeakOfTimeBuckets(t *testing.T) {
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) // a Sunday
	monday := midnight.AddDate(0, 0, 1)
	for _, c := range []struct {
		kind schema.Kind
		at   time.Time
		want float64 // partition keys for each write shard
	}{
		{schema.Counter, midnight.Add(-5 * time.Second), 1},
		{schema.Session, midnight.Add(-5 * time.Second), 1},
		{schema.Event, noon, 1},
		{schema.Event, midnight.Add(-5 * time.Second), 2},
		{schema.Event, midnight.Add(-18 * time.Second), 1},
		{schema.Event, midnight.Add(-17 * time.Second), 2}, // its events may be 8 s ahead
		{schema.Event, midnight, 1},
		{schema.Board, noon, 4},
		{schema.Board, midnight.Add(-5 * time.Second), 5},
		{schema.Board, monday.Add(-5 * time.Second), 6},
		{schema.Board, time.Date(2026, 11, 30, 23, 59, 55, 0, time.UTC), 6}, // the end of a month,
		{schema.Limit, noon, 10},
		{schema.Limit, noon.Add(time.Millisecond), 11},
	} {
		rate := 2.0 // WCU/s of an unlisted partition key
		if schema.TraitsOf(c.kind).Indexed() {
			rate = 0.1
		}
		if got := peak(schema.BaseKey{Type: c.kind, Name: "k"}, 5, hidden(1, c.at)); got != 5*c.want*rate {
			t.Errorf("%s in the window from %s: %v WCU/s, want %v", c.kind, c.at, got, 5*c.want*rate)
		}
	}
}

// TestPeakBesideABackfill checks that listed partition keys of a past day do not bound today's unlisted ones.
func TestPeakBesideABackfill(t *testing.T) {
	base := schema.BaseKey{Type: schema.Event, Name: "e"}
	for day, want := range map[string]float64{"2026-11-22": 30 + 20, "2026-11-01": 30 + 40} {
		items := hidden(1, noon)
		items[0].Keys = []heat.Key{{Key: "E#e#" + day + "#0", Units: 30}}
		if got := peak(base, 2, items); got != want/10 {
			t.Errorf("with events of %s: %v WCU/s, want %v", day, got, want/10)
		}
	}
}

// TestIncompleteWindows checks that a window is in doubt if any of its items is incomplete.
func TestIncompleteWindows(t *testing.T) {
	base := schema.BaseKey{Type: schema.Counter, Name: "k"}
	for n := range 4 {
		items, all := hidden(3, noon), newPastLoads([]candidate{{shardmap.Entry{Key: base.String()}, PastLoad{Base: base, From: noon}}})
		if n < 3 {
			items[n].Incomplete = true
		}
		if all.addWindow(items, noon.Add(time.Minute)); (all[base].Doubt == doubtUnread) != (n < 3) {
			t.Errorf("item %d of 3 incomplete: doubt %q", n, all[base].Doubt)
		}
	}
}

// TestLoadsOfItems checks the rates in a window, and of which source partitions are counted.
func TestLoadsOfItems(t *testing.T) {
	items := []heat.Item{{Start: noon, Window: 10 * time.Second, Rest: 30, IndexRest: 70, Units: 100, Keys: []heat.Key{{Key: "C#a#1", Units: 50, Err: 20, Peak: 9}}}}
	l := loadsOf(items, heat.Merge(items))
	if got := l.groups["C#a"].shards[1]; l.rest != 3 || l.indexRest != 7 || got != (Load{Low: 5, High: 7, Peak: 9}) {
		t.Errorf("rests of %v and %v, and %+v", l.rest, l.indexRest, got)
	}
	for own, want := range map[string]int{"": 0, "items": 2} {
		var tables []string
		counter := partitionCounter{settings: Settings{Control: growth.Act}, count: func(_ context.Context, table string) (int, error) {
			tables = append(tables, table)
			return 0, nil
		}}
		if counter.countIfDue(t.Context(), &journal{source: heat.CountedTable{Own: own}, now: time.Now}); len(tables) != want {
			t.Errorf("from a batch of %q: the partitions of %v", own, tables)
		}
	}
}

// TestLastTexts checks that only changed texts are logged, and that the cache is bounded.
func TestLastTexts(t *testing.T) {
	var last lastTexts
	check := func(subject, text string, want bool) {
		t.Helper()
		if got := last.changed(subject, text); got != want {
			t.Errorf("%s %s: changed %t, want %t", subject, text, got, want)
		}
	}
	check("a", "1", true)
	check("b", "1", true)
	check("a", "1", false)
	check("a", "2", true)
	check("b", "1", false)
	for n := range maxTexts - 1 {
		check(fmt.Sprint(n), "1", true)
	}
	check("b", "1", true)
	if len(last.texts) != 2 {
		t.Errorf("%d texts are cached", len(last.texts))
	}
}
