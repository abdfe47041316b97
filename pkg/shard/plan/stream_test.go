package plan_test

import (
	"cmp"
	"math"
	"testing"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// TestStreamShards checks the stream shards of a table, and the batching window for them.
func TestStreamShards(t *testing.T) {
	for _, c := range []struct {
		units, gb float64
		want      int
	}{
		{0, 0, 4}, {4000, 40, 4}, {4001, 0, 5}, {0, 41, 5}, {50_000, 100, 50}, {1000, 1555, 156},
	} {
		if got := plan.StreamShards(c.units, c.gb); got != c.want {
			t.Errorf("%v write units, %v GB: %d stream shards, want %d", c.units, c.gb, got, c.want)
		}
	}
	for shards, want := range map[int]time.Duration{4: time.Second, 50: time.Second, 51: 5 * time.Second, 8000: 5 * time.Second} {
		if got := plan.BatchingWindow(shards); got != want {
			t.Errorf("%d stream shards: batching window %v, want %v", shards, got, want)
		}
	}
}

// TestTumblingWindows checks the tumbling window: a multiple of the detector's windows, and no shorter than one.
func TestTumblingWindows(t *testing.T) {
	for _, c := range []struct {
		streamShards int
		window, want time.Duration
	}{
		{8, 10 * time.Second, 10 * time.Second}, {9, 10 * time.Second, time.Minute}, {250, 10 * time.Second, time.Minute}, {251, 10 * time.Second, 5 * time.Minute},
		{9, 7 * time.Second, 56 * time.Second}, {251, 7 * time.Second, 294 * time.Second}, {9, 2 * time.Minute, 2 * time.Minute}, {1, 2 * time.Minute, 2 * time.Minute},
	} {
		if got := plan.TumblingWindow(c.streamShards, c.window); got != c.want {
			t.Errorf("%d stream shards, windows of %v: %v, want %v", c.streamShards, c.window, got, c.want)
		}
	}
}

// TestFoldsOfFewEvents compares write units with figures that the comments calculate.
func TestFoldsOfFewEvents(t *testing.T) {
	for _, c := range []struct {
		f    plan.Folds
		want float64
	}{
		{plan.Folds{Rate: 1, Targets: 1}, 1},
		{plan.Folds{Rate: 2, Targets: 1}, 0.43233235838169365},                                                                  // (1 - e^-2) / 2
		{plan.Folds{Rate: 2, Targets: 2, Uniform: true}, 0.6321205588285577},                                                    // 1 - e^-1
		{plan.Folds{Rate: 2, Targets: 2}, 0.6075096513485072},                                                                   // of the shares 1 and 2^-1.1
		{plan.Folds{Rate: 8, Targets: 1, StreamShards: 2, BatchSize: 2}, 0.24542109027781644},                                   // (1 - e^-4) / 4, of half a second
		{plan.Folds{Rate: 8, Targets: 1, StreamShards: 2, BatchSize: 10, BatchingWindow: 4 * time.Second}, 0.04999999989694232}, // (1 - e^-20) / 20, of 2.5 s
		{plan.Folds{Rate: 1000, Targets: 1}, 0.004},                                                                             // in four stream shards
		{plan.Folds{Rate: 1000, Targets: 1, StreamShards: 90}, 0.008},                                                           // in eight of 90: 125 units each
	} {
		c.f.StreamShards, c.f.BatchSize, c.f.BatchingWindow = cmp.Or(c.f.StreamShards, 4), cmp.Or(c.f.BatchSize, 1000), cmp.Or(c.f.BatchingWindow, time.Second)
		if got := c.f.UnitsPerEvent(); !(math.Abs(got-c.want) <= 1e-12) { // also for NaN
			t.Errorf("%+v: %v units an event, want %v", c.f, got, c.want)
		}
	}
}

// TestStreamConcurrency checks the concurrency that a function needs for a number of stream shards.
func TestStreamConcurrency(t *testing.T) {
	for shards, want := range map[int]int{4: 10, 7: 10, 8: 11, 79: 99, 160: 201} {
		if got := plan.StreamConcurrency(shards); got != want {
			t.Errorf("%d stream shards: concurrency %d, want %d", shards, got, want)
		}
	}
}

// TestFoldsAgainstMeasurements compares calculated write units with the measured ones in docs/performance/folds-cost.txt:
// one stream shard, Zipf 1.1, batches of a fixed size.
func TestFoldsAgainstMeasurements(t *testing.T) {
	for _, c := range []struct {
		batch, targets int
		want           float64
	}{{100, 1000, 0.546}, {100, 100_000, 0.689}, {10_000, 1000, 0.084}, {10_000, 100_000, 0.311}} {
		f := plan.Folds{Rate: 1e6, Targets: c.targets, StreamShards: 1, BatchSize: c.batch, BatchingWindow: time.Second}
		if got := f.UnitsPerEvent(); math.Abs(got-c.want) > 0.05*c.want {
			t.Errorf("%d targets, batches of %d: %.3f units an event, measured %.3f", c.targets, c.batch, got, c.want)
		}
	}
}

// TestFoldsByTargets checks the write units of 1,000 events a second.
func TestFoldsByTargets(t *testing.T) {
	for _, c := range []struct {
		f    plan.Folds
		want float64
	}{
		{plan.Folds{Targets: 1}, 0.001},
		{plan.Folds{Targets: 1000}, 0.27},
		{plan.Folds{Targets: 100_000}, 0.48},
		{plan.Folds{Targets: 1000, Uniform: true}, 0.63},
		{plan.Folds{Targets: 100_000, Uniform: true}, 1},
		{plan.Folds{Targets: 10_000, Uniform: true, BatchingWindow: 30 * time.Second, StreamShards: 156}, 0.32},
	} {
		f := c.f
		f.Rate, f.BatchSize = 1000, 1000
		f.StreamShards, f.BatchingWindow = max(4, f.StreamShards), max(time.Second, f.BatchingWindow)
		if got := f.UnitsPerEvent(); math.Abs(got-c.want) > 0.02 {
			t.Errorf("%+v: %.3f units an event, want %.2f", f, got, c.want)
		}
	}
	if got := (plan.Folds{Targets: 5, Rate: 0.001, StreamShards: 4, BatchSize: 1000, BatchingWindow: time.Second}).UnitsPerEvent(); got != 1 {
		t.Errorf("a rare event takes %v units, want 1", got)
	}
}
