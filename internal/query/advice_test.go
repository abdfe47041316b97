package query

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// adviceCase is a key whose shard count changed between two windows, on partitions of 20 WCU/s.
type adviceCase struct {
	key       string    // of a write shard, with %d for its number; an index, if any, and a space before
	then, now int       // shard counts
	peak      float64   // WCU/s of the hottest write shard before the change
	rates     []float64 // WCU/s of each write shard after the change, repeated for more write shards
	second    uint64    // WCU of the heaviest second after the change
	want      string
}

const (
	stale  = "its writers choose write shards at random, so one has an old shard count, and learns the new one within seconds."
	burst  = "Its heaviest second took 25 WCU, and a partition takes 20 WCU/s; its mean stays below. It grows by itself when writes are throttled."
	cooled = "Cooled: resharded to %d at 12:31:20, now at %d%% of the partition limit. No action needed."
)

var adviceCases = []adviceCase{
	{"C#a#%d", 1, 17, 200, []float64{3}, 5, fmt.Sprintf(cooled, 17, 15)},
	{"C#a#%d", 1, 17, 200, []float64{3}, 25, burst},
	{"C#a#%d", 1, 17, 200, []float64{15}, 20, "Using at least 75% of a partition's 20 WCU/s. Increase from 17 to 51 write shards."},
	{"C#a#%d", 1, 17, 200, []float64{19}, 20, "Using at least 95% of a partition's 20 WCU/s, so writes may be throttled. Increase from 17 to 65 write shards."},
	{"C#a#%d", 1, 17, 15, []float64{18, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 20, "Its 17 write shards together take 34.0 WCU/s, most of that in write shard 0, so more of them would stand idle: " + stale},
	{"C#a#%d", 17, 4, 200, []float64{3}, 5, "Cooled: hot until 12:31:20, now at 15% of the partition limit. No action needed."},
	{"C#a#%d", 17, 4, 200, []float64{15}, 20, "Using at least 75% of a partition's 20 WCU/s. Increase from 4 to 12 write shards."},
	{"R#a#3600#1767614400#%d", 1, 17, 200, []float64{3}, 25, burst},
	{"R#a#3600#1767614400#%d", 1, 4, 200, []float64{18, 1, 1, 1}, 20, "most of that in write shard 0, so more of them would stand idle: " + stale},
	{"E#a#2026-01-05#%d", 1, 17, 200, []float64{3}, 25, burst},
	{"E#a#2026-01-05#%d", 1, 4, 200, []float64{18, 1, 1, 1}, 20, "most of that in write shard 0, so more of them would stand idle: spread its writes over more event ids."},
	{"by_rank L#a#all#%d", 1, 17, 200, []float64{3}, 25, burst},
	{"by_rank L#a#all#%d", 1, 4, 200, []float64{18, 1, 1, 1}, 20, "most of that in write shard 0, so more of them would stand idle: spread its writes over more players."},
	{"by_group S#a#%d", 1, 4, 200, []float64{18, 1, 1, 1}, 20, "most of that in write shard 0, so more of them would stand idle: spread its writes over more session ids."},
	{"by_group S#a#%d", 1, 4, 200, []float64{15}, 20, "Increase from 4 to 24 write shards."},
	{"by_place L#a#all#%d", 1, 1, 200, []float64{15}, 20, "Using at least 75% of a partition's 20 WCU/s. Split it across 6 partition keys of the index by_place."},
	{"acme", 1, 1, 200, []float64{3}, 25, "Its heaviest second took 25 WCU, and a partition takes 20 WCU/s; its mean stays below. No action needed unless its writes are throttled."},
}

// TestAdviceIsOfOneMoment checks that advice pairs a shard count with the rates under it, and suits the kind of key.
func TestAdviceIsOfOneMoment(t *testing.T) {
	for _, c := range adviceCases {
		keys := c.list(t)
		if len(keys) != 1 || !strings.HasSuffix(keys[0].Advice, c.want) || keys[0].Rate != max(c.peak, c.rates[0]) || keys[0].Shards != c.now || keys[0].ShardsBefore != c.then {
			t.Errorf("%s from %d to %d write shards, then %v WCU/s, now %v and %d: %+v\nwant %q", c.key, c.then, c.now, c.peak, c.rates, c.second, keys, c.want)
		}
	}
}

// list returns the answer of /v1/hot-keys: a window before the change, and three after it.
func (c adviceCase) list(t *testing.T) []HotKey {
	begin := time.Date(2026, 1, 5, 12, 31, 10, 0, time.UTC)
	changed := begin.Add(10 * time.Second)
	source := liveHeat{c.window(begin, c.then, []float64{c.peak}, 0)}
	for i := range 3 {
		source = append(source, c.window(changed.Add(time.Duration(i)*10*time.Second), c.now, c.rates, c.second))
	}
	entry := shardmap.Entry{Key: "none"}
	row := heat.KeyHeat{Index: source[0].Keys[0].Index, Key: source[0].Keys[0].Key}
	if base, ok := row.Base(); ok {
		entry.Key = base.String()
		entry.History = shard.History{{At: begin.Add(-time.Hour), Count: c.then}, {At: changed, Count: c.now}}
	}
	now := source[3].End().Add(2 * time.Second)
	var out struct{ Keys []HotKey }
	mustGet(t, heatHandler(source, oneEntry{entry}, &now), "/v1/hot-keys?limit=1", &out)
	return out.Keys
}

// window returns a window of ten seconds with so many write shards.
func (c adviceCase) window(start time.Time, shards int, rates []float64, second uint64) heat.Item {
	it := heat.Item{Start: start, Window: 10 * time.Second, Limit: 20, HotRate: 14}
	index, format, ok := strings.Cut(c.key, " ")
	if !ok {
		index, format = "", c.key
	}
	for n := range shards {
		key := format
		if strings.Contains(format, "%d") {
			key = fmt.Sprintf(format, n)
		}
		k := heat.Key{Index: index, Key: key, Units: uint64(10 * rates[n%len(rates)]), Peak: second, PeakAt: start}
		it.Keys, it.Units = append(it.Keys, k), it.Units+k.Units
	}
	return it
}
