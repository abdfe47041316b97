package hotkeys

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestDecide lists what stream shards counted in the ten seconds from noon, by partition key in WCU/s, with the
// decisions for the write shards that a key has.
func TestDecide(t *testing.T) {
	const today, board, group = "E#e#2026-11-22", schema.ByRank + " L#b", schema.ByGroup + " S#g"
	type keys = map[string]uint64
	one := func(k keys) []keys { return []keys{k} }
	for name, c := range map[string]struct {
		own     keys          // on this stream shard
		all     []keys        // by stream shard, this one's included; nil if they are not read
		shards  int           // of the key since an hour ago
		after   time.Duration // now, from the window's end
		unread  bool          // the item of another stream shard is unreadable
		running bool
		want    string // the decision with a fragment of its reason; open if windows of all stream shards may decide otherwise
	}{
		"a counter":                      {own: keys{"C#a#0": 75}, want: "C#a grow 1>3"},
		"just below":                     {own: keys{"C#a#0": 69}},
		"a running window":               {own: keys{"C#a#0": 75}, running: true, want: "C#a grow 1>3"},
		"the hottest first":              {own: keys{"C#a#0": 75, "C#b#0": 80}, want: "C#b grow 1>4, C#a grow 1>3"},
		"no write shards":                {own: keys{"user-7": 75, "L#b#all#7": 75, "C#a#x": 75}},
		"a limit's windows":              {own: keys{"R#k#60#1767571200#0": 75, "R#k#60#1767571260#0": 1}, want: "R#k grow 1>3"},
		"a counter's other write shards": {own: keys{"C#a#0": 70}, shards: 2, want: "C#a grow 2>6"},
		"an entity":                      {own: keys{today + "#0": 75, "E#e#2026-01-01#0": 50}, want: "E#e grow 1>6"},
		"an entity's past":               {own: keys{"E#e#2026-01-01#0": 75}, want: "E#e advise 1>1 past days"},
		"an entity's other write shards": {own: keys{today + "#0": 70}, shards: 2, want: "E#e 2>2 not reported, open"},
		"they are hot":                   {own: keys{today + "#0": 70}, all: []keys{{today + "#0": 70}, {today + "#1": 60}}, shards: 2, want: "E#e grow 2>11"},
		"they are cold":                  {own: keys{today + "#0": 70}, all: one(keys{today + "#0": 70}), shards: 2, after: 3 * time.Second, want: "E#e advise 2>2 skew"},
		"they may be late":               {own: keys{today + "#0": 70}, all: one(keys{today + "#0": 70}), shards: 2, after: 3*time.Second - 1, want: "E#e 2>2 not reported, open"},
		"they are unreadable":            {own: keys{today + "#0": 70}, all: one(keys{today + "#0": 70}), shards: 2, after: 3 * time.Second, unread: true, want: "E#e 2>2 not reported, open"},
		"of a running window":            {own: keys{today + "#0": 70}, all: []keys{{today + "#0": 70}, {today + "#1": 60}}, shards: 2, running: true, want: "E#e 2>2 not reported"},
		"a board":                        {own: keys{board + "#all#0": 75}, want: "L#b grow 1>6"},
		"a board's periods":              {own: keys{board + "#all#0": 75, board + "#2026-11-22#0": 40}, want: "L#b grow 1>10"},
		"a board's periods, each below":  {own: keys{board + "#all#0": 69, board + "#2026-11-22#0": 69}, want: "L#b 1>1 not hot, open"},
		"a board's fraction":             {own: keys{board + "#all#0": 2}, want: "L#b 1>1 not hot, open"},
		"less than a fraction":           {own: keys{board + "#all#0": 1}},
		"a running fraction":             {own: keys{board + "#all#0": 69}, running: true},
		"the sum of fractions":           {own: keys{board + "#all#0": 20}, all: []keys{{board + "#all#0": 20}, {board + "#all#0": 20}, {board + "#all#0": 20}, {board + "#all#0": 20}}, want: "L#b grow 1>7"},
		"one of them is unreadable":      {own: keys{board + "#all#0": 20}, all: []keys{{board + "#all#0": 40}, {board + "#all#0": 40}}, unread: true, want: "L#b grow 1>7"},
		"a group":                        {own: keys{group + "#0": 75}, want: "S#g grow 1>6"},
	} {
		var others []*loads
		if c.all != nil {
			all := counted(c.all...)
			others = []*loads{loadsOf(all, heat.Merge(all))}
			others[0].unreadable = c.unread
		}
		own := mergedWindows(&heat.CountedTable{Own: "items"}, c.running, counted(c.own)...)[0].loads()
		p := Policy{Limit: 100, Threshold: 0.7, Partitions: 250}
		var got []string
		for _, s := range own.suspects(70) {
			e := shardmap.Entry{Key: s.base.String()}
			if c.shards > 0 {
				e.History = shard.History{{At: noon.Add(-time.Hour), Count: c.shards}}
			}
			d, _, open := p.decide(s, own, others, e, own.end.Add(c.after))
			text := fmt.Sprintf("%s %s %d>%d", e.Key, d.Action, d.From, d.To)
			for _, why := range []string{"past days", "skew", "not reported", "not hot"} {
				if strings.Contains(d.Why, why) {
					text += " " + why
				}
			}
			if open {
				text += ", open"
			}
			got = append(got, strings.ReplaceAll(text, "  ", " "))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s; want %s", name, text, c.want)
		}
	}
}

// counted returns an item for each stream shard, of ten seconds from noon. A key with a space has its index first.
func counted(rates ...map[string]uint64) (items []heat.Item) {
	for i, keys := range rates {
		it := heat.Item{Start: noon, Window: 10 * time.Second, StreamShard: fmt.Sprint(i), Limit: 100, HotRate: 70}
		for key, rate := range keys {
			index, name, ok := strings.Cut(key, " ")
			if !ok {
				index, name = "", key
			}
			it.Keys = append(it.Keys, heat.Key{Index: index, Key: name, Units: 10 * rate, Peak: rate})
		}
		items = append(items, it)
	}
	return items
}
