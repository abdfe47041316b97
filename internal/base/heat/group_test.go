package heat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard"
)

// counted returns an item of a window of ten seconds, in which partitions take 100 WCU/s.
func counted(streamShard string, units uint64, keys ...heat.Key) heat.Item {
	return heat.Item{Start: noon, Window: 10 * time.Second, StreamShard: streamShard, Limit: 100, HotRate: 70, Units: units, Keys: keys}
}

// find returns the row of a key.
func find(t *testing.T, key string, items ...heat.Item) heat.KeyHeat {
	t.Helper()
	for _, row := range heat.Merge(items) {
		if row.Key == key {
			return row
		}
	}
	t.Fatalf("no row has the key %s", key)
	return heat.KeyHeat{}
}

// advice returns a row's advice for a key with so many write shards, on a table with 100 partitions.
func advice(row heat.KeyHeat, writeShards int) string {
	return adviceWith(row, shard.History{{Count: writeShards}}, 100)
}

// adviceWith returns the advice for a row of one window.
func adviceWith(row heat.KeyHeat, history shard.History, partitions int) string {
	base, _ := row.Base()
	return row.Advice(&row, heat.ShardingOf(base.Type, history, partitions))
}

// TestSkew checks that the advice is not more write shards if one is far hotter than its siblings. It is if the
// siblings may have been as hot.
func TestSkew(t *testing.T) {
	skewed := counted("1", 900, key("C#a#0", 800, 0, 80, 0), key("C#a#1", 40, 0, 4, 0))
	even := counted("1", 900, key("C#a#0", 800, 0, 80, 0), key("C#a#1", 700, 9, 4, 0), key("C#a#2", 720, 0, 80, 0), key("C#a#3", 680, 0, 80, 0))
	other := counted("2", 900, key("C#a#0", 10, 0, 80, 0))
	if got := find(t, "C#a#0", skewed, other); !strings.Contains(advice(got, 4), "Its 4 write shards together take 85.0 WCU/s, most of that in write shard 0") {
		t.Errorf("skewed: siblings %+v, advice %q", got.Siblings, advice(got, 4))
	}
	got := find(t, "C#a#0", even, other)
	want := heat.Siblings{Seen: 4, Low: 291, High: 291.9}
	if diff := cmp.Diff(want, got.Siblings); diff != "" || !strings.Contains(advice(got, 4), "Increase from 4 to 12 write shards.") {
		t.Errorf("even: advice %q, siblings (-want +got):\n%s", advice(got, 4), diff)
	}
	for length, want := range map[time.Duration]heat.Siblings{0: want, time.Minute: {}} { // folded within a window, and with others
		if got := find(t, "C#a#0", heat.FoldAll([]heat.Item{even, other}, noon, length)...).Siblings; got != want {
			t.Errorf("folded to %v: siblings %+v, want %+v", length, got, want)
		}
	}
	skewed.Rest = 300 // two write shards are not listed
	if got := find(t, "C#a#0", skewed); !strings.Contains(advice(got, 4), "Increase from 4 to 13 write shards.") {
		t.Errorf("two unlisted: siblings %+v, advice %q", got.Siblings, advice(got, 4))
	}
}

// TestAdviceOnOtherCauses checks the advice on causes that more write shards don't cure: large items, events of past
// days, too few partitions, a recent change, and another table.
func TestAdviceOnOtherCauses(t *testing.T) {
	large := key("C#a#0", 800, 0, 80, 0)
	large.Writes = 64
	item := counted("1", 9000, large, key("E#a#2026-01-04#0", 800, 0, 80, 0), key("E#a#2026-01-05#0", 700, 0, 80, 0))
	for _, c := range []struct {
		key    string
		shards int
		want   string
	}{
		{"C#a#0", 1, "Increase from 1 to 4 write shards. Or shrink its ~13 KB items: they cost less then."},
		{"C#a#0", 1000, "It has 1000 write shards, the most that a key can have. Or shrink its ~13 KB items: they cost less then."},
		{"E#a#2026-01-04#0", 1, "Events of past days keep the write shards of their day, so more write shards don't help: pace their sender."},
		{"E#a#2026-01-05#0", 1, "Increase from 1 to 6 write shards."},
	} {
		if got := find(t, c.key, item); !strings.HasSuffix(advice(got, c.shards), c.want) {
			t.Errorf("%s: advice %q, want it to end with %q", c.key, advice(got, c.shards), c.want)
		}
	}
	item.Rest = 800
	row := find(t, "C#a#0", item)
	for _, c := range []struct {
		partitions, shards int
		want               string
	}{
		{4, 2, "Increase from 2 to 7 write shards."},
		{4, 6, "Increase from 6 to 16 write shards."}, // 20 would be planned
		{4, 16, "More write shards do not help while the table has 4 partitions. Raise its warm throughput, or wait some minutes for DynamoDB to split them."},
		{5, 16, "Increase from 16 to 20 write shards."},
	} {
		if got := adviceWith(row, shard.History{{Count: c.shards}}, c.partitions); !strings.Contains(got, c.want+" Or shrink") {
			t.Errorf("%d write shards on %d partitions: advice %q, want %q", c.shards, c.partitions, got, c.want)
		}
	}
	if got := adviceWith(row, shard.History{{At: noon.Add(5 * time.Second), Count: 3}}, 100); !strings.Contains(got, "Resharded to 3 at 12:00:05; watching whether it cools.") {
		t.Errorf("just grown: advice %q", got)
	}
	item.Table = "orders"
	own := counted("1", 5, key("C#a#0", 5, 0, 1, 0))
	if rows := heat.Merge([]heat.Item{item, own}); len(rows) != 4 {
		t.Errorf("rows %+v, want 4: one key of each of two tables has two", rows)
	}
	if got := find(t, "C#a#0", item); !strings.Contains(advice(got, 1), "Split it across 7 partition keys, or shrink its ~13 KB items.") || got.MetricName() != "C#a#0" {
		t.Errorf("another table: metric name %q, advice %q", got.MetricName(), advice(got, 1))
	}
}

// TestAdviceNamesTheGrowth checks that advice names a growth, and neither a shrink nor a later pin, as the cause of
// cooling, and that a hot key's advice after a shrink is to increase it again.
func TestAdviceNamesTheGrowth(t *testing.T) {
	at := func(minute int) time.Time { return noon.Add(time.Duration(minute) * time.Minute) }
	hot := find(t, "C#a#0", counted("1", 1600, key("C#a#0", 800, 0, 80, 0), key("C#a#1", 780, 0, 78, 0)))
	cooled := hot
	cooled.Verdicts = heat.Verdicts{Worst: heat.Hot, Now: heat.Normal, Current: 20, HotUntil: at(5)}
	for name, c := range map[string]struct {
		row     heat.KeyHeat
		history shard.History
		want    string
	}{
		"growth, then a shrink":    {cooled, shard.History{{At: at(3), Count: 16}, {At: at(90), Count: 4}}, "Cooled: resharded to 16 at 12:03:00, now"},
		"a pin after it cooled":    {cooled, shard.History{{At: at(20), Count: 8}}, "Cooled: hot until 12:05:00, now"},
		"a shrink alone":           {cooled, shard.History{{At: at(-90), Count: 16}, {At: at(3), Count: 4}}, "Cooled: hot until 12:05:00, now"},
		"a shrink while it is hot": {hot, shard.History{{At: at(-90), Count: 4}, {At: at(1), Count: 2}}, "Resharded from 4 to 2 at 12:01:00 while hot. Increase it again."},
		"growth and then a shrink": {hot, shard.History{{At: at(1), Count: 4}, {At: at(2), Count: 2}}, "Resharded from 4 to 2 at 12:02:00 while hot. Increase it again."},
		"growth while it is hot":   {hot, shard.History{{At: at(-90), Count: 2}, {At: at(1), Count: 4}}, "Resharded to 4 at 12:01:00; watching"},
	} {
		if got := adviceWith(c.row, c.history, 100); !strings.Contains(got, c.want) {
			t.Errorf("%s: advice %q, want %q", name, got, c.want)
		}
	}
}
