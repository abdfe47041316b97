// Package storm measures what callers see when keys get more writes than a partition takes. The API runs as on Lambda:
// containers with one request at a time, cold starts, and one quota for all functions. Each scenario runs three times, on
// a new system each time:
//
//	go -C bench run . storm -list
//	go -C bench run . storm -only counter10x-40,event10x-40 -out ../docs/performance/storm
//
// It prints a table for each run. With -out it also writes the raw results to FOLDER/SCENARIO.json, and a summary and a
// chart of all results in the folder to FOLDER/summary.md and FOLDER/storm.svg. An interrupted run writes nothing.
package storm

import (
	"cmp"
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
	f.StringVar(&o.only, "only", "", "`names` of scenarios, with commas between them; * at the end stands for anything (default: all)")
	f.IntVar(&o.runs, "runs", 3, "runs of each scenario")
	f.StringVar(&o.out, "out", "", "`folder` for the raw results and the summary")
	return func(ctx context.Context, r *rig.Run) error { return o.run(ctx, r) }
}}

type options struct {
	list bool
	only string
	runs int
	out  string
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
	measured := measurement{Scenario: s.Name, About: s.about()}
	for n := range o.runs {
		r, err := s.run(ctx, n+1)
		if err != nil {
			return fmt.Errorf("run %d: %w", n+1, err)
		}
		r.print(w, fmt.Sprintf("%s, run %d", s.Name, n+1))
		measured.Runs = append(measured.Runs, r)
	}
	if o.out == "" {
		return nil
	}
	return measured.write(o.out)
}

// choose returns the scenarios with these names, in this order.
func choose(all []scenario, names string) ([]scenario, error) {
	if names == "" {
		return all, nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		before := len(chosen)
		for _, s := range all {
			prefix, some := strings.CutSuffix(name, "*")
			if s.Name == name || some && strings.HasPrefix(s.Name, prefix) {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) == before {
			return nil, fmt.Errorf("there is no scenario %q; -list lists them", name)
		}
	}
	slices.SortFunc(chosen, func(a, b scenario) int { return cmp.Compare(a.order, b.order) })
	return slices.CompactFunc(chosen, func(a, b scenario) bool { return a.Name == b.Name }), nil
}
