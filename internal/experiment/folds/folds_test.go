package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/enginetest"
)

// runOnce makes a short run.
func runOnce(t *testing.T, change func(*options)) report {
	t.Helper()
	o := options{Endpoint: enginetest.Endpoint(t), Seed: uint64(time.Now().UnixNano()), Increments: 12_000, Counters: 20, Events: 700, Entities: 12, Spread: local.ByItem}
	change(&o)
	r, err := torment(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.print(t.Output(), 0)
	t.Logf("seed %d", o.Seed)
	return r
}

// TestNothingDrifts wants no difference, whatever goes wrong.
func TestNothingDrifts(t *testing.T) {
	t.Parallel()
	r := runOnce(t, func(*options) {})
	for _, line := range r.Description {
		t.Error(line)
	}
	if r.Differences > 0 {
		t.Errorf("%d differences", r.Differences)
	}
	if sum(r.Faults) < 100 || r.Keyed != 6000 || r.EventItems < 400 || r.EventsKeyed == 0 || r.Buckets == 0 || r.Folds == 0 {
		t.Errorf("the run tried too little: %+v, %v", r.totals, r.Faults)
	}
}

// maxRuns is in how many runs at most the lack of a guard has to show. A run may have none of the
// faults that it is against.
const maxRuns = 10

// TestTheHarnessFindsWhatIsBroken takes the guards out, one at a time.
func TestTheHarnessFindsWhatIsBroken(t *testing.T) {
	t.Parallel()
	counters := func(o *options) { o.Increments, o.Events = 4000, 0 }
	events := func(o *options) { o.Increments, o.Events = 0, 200 }
	for name, c := range map[string]struct {
		of      func(*options)
		breakIt func(*options)
		finds   string
	}{
		"folds without the condition on rev": {counters, func(o *options) { o.broken.fold = true }, "its summary has"},
		"keyed calls without their marker":   {counters, func(o *options) { o.broken.marker = true }, "was applied"},
		"deliveries lost":                    {counters, func(o *options) { o.drop = "c#0#" }, "its summary has"},
		"folds without the condition on seq": {events, func(o *options) { o.broken.fold = true }, "rollup"},
		"deliveries of events lost":          {events, func(o *options) { o.drop = entityName(0) + "#" }, "rollup"},
		"a record folded as two":             {events, func(o *options) { o.repeat = true }, "rollup"},
		"events on two write shards":         {events, func(o *options) { o.broken.shard = true }, "is 2 times in the table"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range maxRuns {
				r := runOnce(t, func(o *options) { c.of(o); c.breakIt(o) })
				if slices.ContainsFunc(r.Description, func(line string) bool { return strings.Contains(line, c.finds) }) {
					return
				}
			}
			t.Errorf("not found in %d runs: %s", maxRuns, c.finds)
		})
	}
}

// TestAGapIsRepaired loses a stretch of the stream. An audit has to find what is
// wrong then, and rebuild and replay have to mend it, without any trace.
func TestAGapIsRepaired(t *testing.T) {
	t.Parallel()
	r := runOnce(t, func(o *options) { o.Gap, o.Spread, o.Events, o.Entities = true, local.ByPartitionKey, 350, 3 })
	for _, line := range r.Description {
		t.Error(line)
	}
	if r.Lost == 0 || r.Found == 0 || r.Rebuilt+r.RebuiltAtRest == 0 {
		t.Errorf("the run tried too little: %+v", r.totals)
	}
}

// TestAllRunsAreAddedUp looks at what the command prints in the end.
func TestAllRunsAreAddedUp(t *testing.T) {
	t.Parallel()
	o := options{Endpoint: enginetest.Endpoint(t), Seed: 1, Increments: 1000, Counters: 5, Events: 100, Entities: 5}
	if n, err := runAll(t.Context(), t.Output(), o, 2); n != 0 || err != nil {
		t.Errorf("%d differences, %v", n, err)
	}
}
