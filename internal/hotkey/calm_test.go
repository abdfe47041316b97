package hotkey

import (
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// hidden are items of a window of ten seconds from at on, one for each stream shard, whose
// first keys that are not listed took 20 units, of an index 1.
func hidden(streamShards int, at time.Time) (items []heat.Item) {
	for s := range streamShards {
		items = append(items, heat.Item{Start: at, Window: 10 * time.Second, StreamShard: fmt.Sprint(s), Rest: 20, IndexRest: 1})
	}
	return items
}

// peak is what a key with write shards is taken for by items, in units a second.
func peak(base schema.BaseKey, writeShards int, items []heat.Item) float64 {
	c := candidate{shardmap.Entry{Key: base.String(), History: shard.History{{At: noon.Add(-48 * time.Hour), Count: writeShards}}}, base}
	all := newCalms([]candidate{c}, func(candidate) time.Time { return items[0].Start })
	all.see(items, items[0].End())
	return all[base].Peak
}

// TestPeakOfManyStreamShards: what a key may have taken that no item lists does not rise with
// the number of stream shards, since its partition keys come by one of them, or by two.
func TestPeakOfManyStreamShards(t *testing.T) {
	base := schema.BaseKey{Type: schema.Counter, Name: "k"}
	for _, n := range []int{2, 4, 64, 250} {
		if got := peak(base, 64, hidden(n, noon)); got != 64*2*2 {
			t.Errorf("%d stream shards: %v units a second, want 256", n, got)
		}
	}
	board := schema.BaseKey{Type: schema.Board, Name: "b"} // an index's keys come by all
	if got := peak(board, 4, hidden(64, noon)); got != 4*3*64*0.1 {
		t.Errorf("a board: %v units a second, want 76.8", got)
	}
}

// TestPeakOfParts: of two stream shards the parts add up, and what lists a write shard hides
// nothing of it.
func TestPeakOfParts(t *testing.T) {
	base := schema.BaseKey{Type: schema.Counter, Name: "k"}
	part := func(streamShard, part string, rest uint64, keys ...heat.Key) heat.Item {
		return heat.Item{Start: noon, Window: 10 * time.Second, StreamShard: streamShard, Part: part, Rest: rest, Keys: keys}
	}
	key := heat.Key{Key: "C#k#0", Units: 100, Err: 5}
	for name, c := range map[string]struct {
		items []heat.Item
		want  float64 // units in the window
	}{
		"parts":                {[]heat.Item{part("a", "1", 20), part("b", "", 25), part("a", "2", 10), part("c", "", 27)}, 2 * (30 + 27)},
		"the most comes last":  {[]heat.Item{part("a", "", 1), part("b", "", 2), part("c", "", 3)}, 2 * (2 + 3)},
		"the most comes first": {[]heat.Item{part("a", "", 3), part("b", "", 2), part("c", "", 1)}, 2 * (2 + 3)},
		"listed":               {[]heat.Item{part("a", "", 20, key), part("b", "", 25), part("c", "", 3)}, 105 + 25 + (20 + 25)},
		"listed across a split": {
			[]heat.Item{part("a", "", 20, key), part("b", "", 25, key), part("c", "", 3)}, 2*105 + 0 + (20 + 25),
		},
		"unnamed": {[]heat.Item{part("", "1", 20), part("", "2", 25), part("", "3", 3)}, 2 * (20 + 25 + 3)},
	} {
		if got := peak(base, 2, c.items); got != c.want/10 {
			t.Errorf("%s: %v units a second, want %v", name, got, c.want/10)
		}
	}
}

// TestPeakOfTimeBuckets: write shards are counted for each time bucket that a window touches.
func TestPeakOfTimeBuckets(t *testing.T) {
	midnight := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) // of a Sunday
	monday := midnight.AddDate(0, 0, 1)
	for _, c := range []struct {
		kind schema.Type
		at   time.Time
		want float64 // partition keys for each write shard
	}{
		{schema.Counter, midnight.Add(-5 * time.Second), 1},
		{schema.Sessions, midnight.Add(-5 * time.Second), 1},
		{schema.Entity, noon, 1},
		{schema.Entity, midnight.Add(-5 * time.Second), 2},
		{schema.Entity, midnight.Add(-18 * time.Second), 1},
		{schema.Entity, midnight.Add(-17 * time.Second), 2}, // its events may be 8 s ahead
		{schema.Entity, midnight, 1},
		{schema.Board, noon, 3},
		{schema.Board, midnight.Add(-5 * time.Second), 4},
		{schema.Board, monday.Add(-5 * time.Second), 5},
		{schema.Limit, noon, 10},
		{schema.Limit, noon.Add(time.Millisecond), 11},
	} {
		rate := 2.0 // units a second of a partition key that is not listed
		if c.kind.Indexed() {
			rate = 0.1
		}
		if got := peak(schema.BaseKey{Type: c.kind, Name: "k"}, 5, hidden(1, c.at)); got != 5*c.want*rate {
			t.Errorf("%s in the window from %s: %v units a second, want %v", c.kind, c.at, got, 5*c.want*rate)
		}
	}
}

// TestPeakBesideABackfill: that a past day's partition keys are listed says nothing of today's.
func TestPeakBesideABackfill(t *testing.T) {
	base := schema.BaseKey{Type: schema.Entity, Name: "e"}
	for day, want := range map[string]float64{"2026-11-22": 30 + 20, "2026-11-01": 30 + 40} {
		items := hidden(1, noon)
		items[0].Keys = []heat.Key{{Key: "E#e#" + day + "#0", Units: 30}}
		if got := peak(base, 2, items); got != want/10 {
			t.Errorf("with events of %s: %v units a second, want %v", day, got, want/10)
		}
	}
}

// TestSkewIsSeenOnManyStreamShards: what other stream shards may hide of a write shard is
// no more than two of them may.
func TestSkewIsSeenOnManyStreamShards(t *testing.T) {
	items := hidden(64, noon)
	for n, units := range []uint64{9000, 50} { // two write shards are not listed
		items[n].Keys = []heat.Key{{Key: fmt.Sprint("E#e#2026-11-22#", n), Units: units}}
	}
	for i := range items {
		items[i].Rest, items[i].Limit = 300, 1000 // 30 units a second
	}
	l := loadsOf(items)
	s := l.suspects(700)
	entry := shardmap.Entry{Key: "E#e", History: shard.History{{At: noon.Add(-time.Hour), Count: 4}}, Max: 4}
	d := Policy{Limit: 1000, Threshold: 0.7, Partitions: 64}.Answer(l.evidence(s[0], false), entry, l.end)
	if d.Action != Advise {
		t.Errorf("%+v by %+v", d, l.evidence(s[0], false))
	}
}
