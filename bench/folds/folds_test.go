package folds

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/virtualstream"
)

// runOnce makes a short run with these options, and logs its seed.
func runOnce(t *testing.T, change func(*options)) *report {
	t.Helper()
	o := options{Endpoint: enginetest.Endpoint(t), Seed: uint64(time.Now().UnixNano()), Increments: lane.Runs(1500, 12_000), Counters: lane.Runs(8, 20), Events: lane.Runs(125, 700), Entities: lane.Runs(6, 12), Spread: virtualstream.ByItem}
	change(&o)
	r, err := torment(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.print(t.Output())
	t.Logf("seed %d", o.Seed)
	return r
}

// TestNothingDrifts checks that a run with faults finds no difference between items, summaries and answers.
func TestNothingDrifts(t *testing.T) {
	t.Parallel()
	r := runOnce(t, func(*options) {})
	for _, line := range r.described {
		t.Error(line)
	}
	if r.faults() < lane.Runs(12, 100) || r.of(incrementsKeyed) < lane.Runs(700, 5900) || r.of(eventsFound) < lane.Runs(70, 400) ||
		r.of(eventsKeyed) == 0 || r.of(rollupsCompared) == 0 || r.of(folded) == 0 {
		t.Errorf("the run had too few faults, calls or folds to prove anything: %v", r.n)
	}
}

// TestRunAll checks that two runs together find no difference.
func TestRunAll(t *testing.T) {
	t.Parallel()
	o := options{Endpoint: enginetest.Endpoint(t), Seed: 1, Increments: lane.Runs(300, 1000), Counters: 5, Events: lane.Runs(40, 100), Entities: 5}
	if n, err := runAll(t.Context(), t.Output(), o, 2); n != 0 || err != nil {
		t.Errorf("%d differences, %v", n, err)
	}
}
