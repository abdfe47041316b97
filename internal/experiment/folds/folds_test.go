package main

import (
	"io"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/local/enginetest"
)

// runOnce makes a short run.
func runOnce(t *testing.T, change func(*options)) report {
	t.Helper()
	o := options{Endpoint: enginetest.Endpoint(t), Seed: uint64(time.Now().UnixNano()), Increments: 12_000, Counters: 20}
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
	r := runOnce(t, func(*options) {})
	for _, line := range r.Description {
		t.Error(line)
	}
	if r.Differences > 0 {
		t.Errorf("%d differences", r.Differences)
	}
	if sum(r.Faults) < 100 || r.Keyed != 6000 || r.Folds == 0 {
		t.Errorf("the run tried too little: %+v, %v", r.totals, r.Faults)
	}
}

// TestTheHarnessFindsWhatIsBroken takes the guards out, one at a time.
func TestTheHarnessFindsWhatIsBroken(t *testing.T) {
	for name, breakIt := range map[string]func(*options){
		"folds without the condition on rev": func(o *options) { o.broken.fold = true },
		"keyed calls without their marker":   func(o *options) { o.broken.marker = true },
		"deliveries lost":                    func(o *options) { o.drop = true },
	} {
		t.Run(name, func(t *testing.T) {
			if r := runOnce(t, func(o *options) { o.Increments /= 2; breakIt(o) }); r.Differences == 0 {
				t.Error("no difference was found")
			}
		})
	}
}

// TestAllRunsAreAddedUp looks at what the command prints in the end.
func TestAllRunsAreAddedUp(t *testing.T) {
	o := options{Endpoint: enginetest.Endpoint(t), Seed: 1, Increments: 1000, Counters: 5}
	if n, err := runAll(t.Context(), io.Discard, o, 2); n != 0 || err != nil {
		t.Errorf("%d differences, %v", n, err)
	}
}
