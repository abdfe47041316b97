package bill_test

import (
	"math"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/tool/bill"
)

// busy is the day of docs/first-sixty-days.md.
var busy = bill.Load{Events: 1000, ItemBytes: 500, Batch: 25, Targets: 1000}

// lineOf returns a line of a day's bill, or the zero Line.
func lineOf(day bill.Day, item string) bill.Line {
	for _, l := range day.Lines {
		if l.Item == item {
			return l
		}
	}
	return bill.Line{}
}

// TestIndependentEstimate compares sums with an independent estimate from the same prices. Its assumptions differ:
// 0.5 GB for ingest, other log lines, folds of 0.3 units an event, and no data transfer.
func TestIndependentEstimate(t *testing.T) {
	for _, c := range []struct {
		load bill.Load
		want float64 // USD a day
	}{
		{bill.Load{}, 0.50 + 0.09 + 0.08}, // for 29 more metrics in alarms, and composite alarms
		{bill.Load{Events: 1000, Batch: 25, Targets: 1000}, 82 - 2.3},
		{bill.Load{Events: 1000, Batch: 1, Targets: 1000}, 217 - 23},
		{bill.Load{Events: 50_000, Batch: 25, Targets: 200_000}, 3910 - 47},
		{bill.Load{Events: 50_000, Batch: 1, Targets: 200_000}, 10_600 - 1084},
	} {
		c.load.ItemBytes = 500
		day := bill.Estimate(c.load, 1, bill.Default())
		got := day.Total()
		t.Logf("%+v: %.2f", c.load, got)
		for _, l := range day.Lines {
			t.Logf("   %-30s %-70s %10.2f", l.Item, l.Basis, l.USD)
		}
		if math.Abs(got-c.want) > 0.2*c.want {
			t.Errorf("%+v: %.2f USD a day, want %.2f within a fifth", c.load, got, c.want)
		}
	}
}

// TestSettingsChangeTheBill checks by how much each setting changes the bill of a busy day.
func TestSettingsChangeTheBill(t *testing.T) {
	sum := func(change func(*bill.Load)) float64 {
		l := busy
		change(&l)
		return bill.Estimate(l, 1, bill.Default()).Total()
	}
	base := sum(func(*bill.Load) {})
	for name, c := range map[string]struct {
		change func(*bill.Load)
		want   float64
	}{
		"provisioned":       {func(l *bill.Load) { l.Provisioned = true }, -31.1},
		"two units":         {func(l *bill.Load) { l.ItemBytes = 1500 }, 54 + 1.3}, // with the idle windows of 14 more stream shards
		"many entities":     {func(l *bill.Load) { l.Targets = 100_000 }, 11.7},
		"uniform entities":  {func(l *bill.Load) { l.Targets, l.Uniform = 100_000, true }, 46.4},
		"counters as well":  {func(l *bill.Load) { l.Increments = 1000 }, 54 + 3.46 + 3.46 + 0.78 + 0.8}, // with 4 more stream shards
		"only the counters": {func(l *bill.Load) { l.Events, l.Increments = 0, 1000 }, -0.78 - 0.3 - 2.58},
	} {
		if got := sum(c.change) - base; math.Abs(got-c.want) > 0.3 {
			t.Errorf("%s: %+.2f USD a day, want %+.2f", name, got, c.want)
		}
	}
}

// TestDays checks the stored GB, and the stream shards that follow from them. Only events accumulate.
func TestDays(t *testing.T) {
	for _, c := range []struct {
		load   bill.Load
		day    int
		shards int
		gb     float64
	}{
		{bill.Load{}, 1, 0, 0},
		{busy, 1, 6, 52}, // by the GB at the day's end
		{busy, 9, 47, 467},
		{busy, 10, 52, 518},
		{busy, 30, 156, 1555},
		{busy, 300, 161, 1607}, // older events have expired
		{bill.Load{Increments: 1000, ItemBytes: 500, Batch: 25}, 30, 4, 0},
		{bill.Load{Events: 1000, Increments: 9000, ItemBytes: 500, Batch: 25, Targets: 1}, 30, 156 + 9, 1555},
		{bill.Load{Events: 50_000, ItemBytes: 500, Batch: 25, Targets: 1}, 30, 7776, 77_760},
	} {
		got := bill.Estimate(c.load, c.day, bill.Default())
		if got.Settings.StreamShards != c.shards || math.Abs(got.StoredGB-c.gb) > 1 {
			t.Errorf("%+v, day %d: %d stream shards, %.1f GB, %+v; want %+v", c.load, c.day, got.Settings.StreamShards, got.StoredGB, got.Settings, c)
		}
	}
}

// TestSettings checks the proposed settings.
func TestSettings(t *testing.T) {
	load := bill.Load{Events: 10_000, ItemBytes: 500, Batch: 25, Targets: 100_000, Uniform: true}
	got := bill.Estimate(load, 1, bill.Default())
	want := bill.Settings{StreamShards: 52, AccountConcurrency: 1000, PeakWrites: 10_000, WarmEvents: 20_000, WarmRollups: 8647}
	if got.Settings != want {
		t.Errorf("settings %+v, want %+v", got.Settings, want)
	}
}

// TestMoreWritesNeverCostLess checks this for the day's sum, and that no amount is negative, infinite or NaN.
func TestMoreWritesNeverCostLess(t *testing.T) {
	before := 0.0
	for _, writes := range []float64{0, 0.001, 1, 999, 1000, 1001, 50_000, 1e6, bill.MaxWrites} {
		day := bill.Estimate(bill.Load{Events: writes, Increments: writes, ItemBytes: 1024, Batch: 25, Targets: 1000}, 1, bill.Default())
		for _, l := range day.Lines {
			if !(l.USD >= 0) || math.IsInf(l.USD, 0) || strings.TrimSpace(l.Item) == "" {
				t.Errorf("%v writes a second: %+v", writes, l)
			}
		}
		if sum := day.Total(); sum < before {
			t.Errorf("%v writes a second cost %.2f, fewer cost %.2f", writes, sum, before)
		} else {
			before = sum
		}
	}
}

// TestIncrementsCostNoFolds checks that increments of counters with one write shard add nothing to the cost of folds.
func TestIncrementsCostNoFolds(t *testing.T) {
	folds := func(l bill.Load) float64 { return lineOf(bill.Estimate(l, 1, bill.Default()), "folds").USD }
	events := bill.Load{Events: 1000, ItemBytes: 100, Batch: 25, Targets: 100_000, Uniform: true}
	both, increments := events, events
	both.Increments, increments.Events, increments.Increments = 1000, 0, 1000
	if got := folds(events); got < 40 || folds(both) != got || folds(increments) != 0 {
		t.Errorf("folds of events cost %.2f USD a day, with increments %.2f, of increments %.2f; want the same, and 0", got, folds(both), folds(increments))
	}
}

// TestFoldsCostATenthOfWrites checks that folds cost at most a tenth of the writes of the first day, with the default
// settings: those of Zipf's entities, and of sensors with an event every second.
func TestFoldsCostATenthOfWrites(t *testing.T) {
	for _, load := range []bill.Load{busy, {Events: 1000, ItemBytes: 500, Batch: 25, Targets: 1000, Uniform: true}, {Events: 5000, ItemBytes: 900, Batch: 25, Targets: 5000}} {
		load.StreamShards = 4
		day := bill.Estimate(load, 1, bill.Default())
		if folds, writes := lineOf(day, "folds").USD, lineOf(day, "writes").USD; folds > 0.1*writes || folds == 0 {
			t.Errorf("%+v: folds cost %.2f USD, writes %.2f", load, folds, writes)
		}
	}
}

// TestOneReaderCostsMoreFoldsAndFewerRuns checks that rollups which don't wait cost more folds than they save runs.
func TestOneReaderCostsMoreFoldsAndFewerRuns(t *testing.T) {
	line := func(d bill.Day, item string) float64 {
		for _, l := range d.Lines {
			if l.Item == item {
				return l.USD
			}
		}
		t.Fatalf("no line %q in %+v", item, d.Lines)
		return 0
	}
	load := bill.Load{Events: 1000, ItemBytes: 500, Batch: 25, Targets: 1000}
	two := bill.Estimate(load, 1, bill.Default())
	load.OneReader = true
	one := bill.Estimate(load, 1, bill.Default())
	const runs, folds = "stream functions", "folds"
	if line(one, runs) >= line(two, runs) || line(one, folds) <= line(two, folds) {
		t.Errorf("one reader: runs %v, folds %v; two: %v, %v", line(one, runs), line(one, folds), line(two, runs), line(two, folds))
	}
}

// TestDefaultStreamShardsCostMore checks the difference between the default of streamShards and the number that a day
// needs, and that the latter is what it is by default.
func TestDefaultStreamShardsCostMore(t *testing.T) {
	for day, want := range map[int]float64{1: 0, 30: 11.9, 60: 12.2} {
		advised, deployed := bill.Estimate(busy, day, bill.Default()), busy
		deployed.StreamShards = 4
		if got := bill.Estimate(deployed, day, bill.Default()).Total() - advised.Total(); math.Abs(got-want) > 0.1 {
			t.Errorf("day %d: the default costs %.2f USD more, want %.2f", day, got, want)
		}
		deployed.StreamShards = advised.Settings.StreamShards
		if got := bill.Estimate(deployed, day, bill.Default()).Total(); got != advised.Total() {
			t.Errorf("day %d: %.2f USD with its own number, %.2f by default", day, got, advised.Total())
		}
	}
}

// TestRemovalsOfExpiredEvents checks that events which expire are delivered to both functions, from the day of the first.
func TestRemovalsOfExpiredEvents(t *testing.T) {
	const each = 0.00006 * (1 + 1.73) * 0.0000133334 // USD: two functions read a removal for 0.06 ms
	for day, want := range map[int]float64{1: 0, 31: 0, 32: 86.4e6 * each, 400: 86.4e6 * each} {
		if got := lineOf(bill.Estimate(busy, day, bill.Default()), "expired events"); got.Item == "" || math.Abs(got.USD-want) > 0.001 {
			t.Errorf("day %d: %+v, want %.3f USD", day, got, want)
		}
	}
}

// TestLargeTableCostsTheSame checks that day 30 costs at most 1.1 times as much as day 1, without storage.
func TestLargeTableCostsTheSame(t *testing.T) {
	for name, load := range map[string]bill.Load{
		"1,000/s, 1,000 entities":           busy,
		"1,000/s, 100,000 entities":         {Events: 1000, ItemBytes: 500, Batch: 25, Targets: 100_000},
		"1,000/s, 100,000 uniform entities": {Events: 1000, ItemBytes: 500, Batch: 25, Targets: 100_000, Uniform: true},
		"1,000/s, one a call":               {Events: 1000, ItemBytes: 500, Batch: 1, Targets: 1000},
		"100/s":                             {Events: 100, ItemBytes: 500, Batch: 25, Targets: 1000},
		"50,000/s":                          {Events: 50_000, ItemBytes: 500, Batch: 25, Targets: 200_000},
	} {
		var sums []float64
		for _, day := range []int{1, 30} {
			sum := 0.0
			for _, l := range bill.Estimate(load, day, bill.Default()).Lines {
				if l.Item != "storage" {
					sum += l.USD
				}
			}
			sums = append(sums, sum)
		}
		if sums[1] > 1.1*sums[0] {
			t.Errorf("%s: %.2f USD on day 1, %.2f on day 30", name, sums[0], sums[1])
		}
	}
}
