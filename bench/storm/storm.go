// Package storm measures what callers see when a key gets more writes than a partition takes. The API runs as on Lambda:
// containers with one request at a time, cold starts, and one quota of concurrency. Each scenario runs three times, on
// a new system each time:
//
//	go -C bench run . storm -list
//	go -C bench run . storm -only counter10x-40,event10x-40
//
// It prints a table for each run, and a line with the median and the worst of a scenario's runs. A run is without a
// difference if strong reads find all accepted writes, and none that certainly failed.
package storm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/bench/rig"
)

// Program is the experiment.
var Program = rig.Program{Name: "storm", About: "what callers see when a key gets hot", Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	var o options
	f.BoolVar(&o.list, "list", false, "list the scenarios")
	f.StringVar(&o.only, "only", "", "`names` of scenarios, with commas between them (default: all)")
	f.IntVar(&o.runs, "runs", 3, "runs of each scenario")
	return func(ctx context.Context, r *rig.Run) error { return o.run(ctx, r) }
}}

type options struct {
	list bool
	only string
	runs int
}

func (o options) run(ctx context.Context, w io.Writer) error {
	if o.runs < 1 {
		return errors.New("-runs: want 1 or more")
	}
	chosen, err := choose(scenarios(), o.only)
	if err != nil {
		return err
	}
	for _, s := range chosen {
		if o.list {
			fmt.Fprintf(w, "%-28s %s\n", s.Name, s.about())
			continue
		}
		if err := o.measure(ctx, w, s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// measure runs a scenario as often as -runs says.
func (o options) measure(ctx context.Context, w io.Writer, s scenario) error {
	var runs []run
	for n := range o.runs {
		r, err := s.run(ctx, n+1)
		if err != nil {
			return fmt.Errorf("run %d: %w", n+1, err)
		}
		r.print(w, fmt.Sprintf("%s, run %d", s.Name, n+1))
		runs = append(runs, r)
	}
	summarize(w, s.Name, runs)
	return nil
}

// choose returns the scenarios with these names; a name that no scenario has is an error.
func choose(all []scenario, names string) (chosen []scenario, err error) {
	if names == "" {
		return all, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(s scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q; -list lists them", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}
