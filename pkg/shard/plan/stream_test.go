package plan_test

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// TestBatchingWindow checks the batching window by the number of stream shards.
func TestBatchingWindow(t *testing.T) {
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
