//go:build long

package folds

import (
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/local/eventsource"
)

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
				if slices.ContainsFunc(r.description, func(line string) bool { return strings.Contains(line, c.finds) }) {
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
	r := runOnce(t, func(o *options) { o.Gap, o.Spread, o.Events, o.Entities = true, eventsource.ByPartitionKey, 350, 3 })
	for _, line := range r.description {
		t.Error(line)
	}
	if f := &r.figures; f.of(lost) == 0 || f.of(found) == 0 || f.of(rebuilt)+f.of(rebuiltAtRest) == 0 {
		t.Errorf("the run tried too little: %v", f.n)
	}
}
