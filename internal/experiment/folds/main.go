// Command folds tries to make the summaries of counters drift. Callers send
// increments, half of them keyed, through ingest's HTTP handler, and two consumers
// fold the stream, on Amazon's own engine; calls to DynamoDB fail before or after
// they are applied, processes die in them, batches are cut, repeated and delivered
// late, stream shards split and rotate, shard counts change. Then everything comes
// to rest, and each counter is compared:
//
//	go run ./internal/experiment/folds -seeds 10 -increments 1000000
//
// A seed repeats what is drawn, while the engine and the scheduler decide who draws
// it. What must hold, exactly: a summary is the sum over the counter's write
// shards; a keyed call is in it once; an unkeyed one at least once if it was
// accepted, and at most once more for each answer that was lost. The command prints
// what it did and what differs, and ends with 1 if anything does.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/hotshard/hotshard/internal/local"
)

func main() {
	seeds := flag.Int("seeds", 10, "runs, each with a seed and tables of its own")
	first := flag.Uint64("seed", 1, "the first seed")
	increments := flag.Int("increments", 1_000_000, "increments in all runs together")
	counters := flag.Int("counters", 60, "counters of each run")
	costs := flag.Bool("cost", false, "compare write units with other ways to fold instead")
	flag.Parse()
	if flag.NArg() > 0 || *seeds < 1 || *increments < *seeds*callers || *counters < 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{Seed: *first, Increments: *increments / *seeds, Counters: *counters}
	work := func(ctx context.Context, o options) (int, error) { return runAll(ctx, os.Stdout, o, *seeds) }
	if *costs {
		work = func(ctx context.Context, o options) (int, error) { return 0, compareCosts(ctx, os.Stdout, o.Endpoint) }
	}
	differences, err := withEngine(ctx, o, work)
	if err != nil {
		fmt.Fprintln(os.Stderr, "folds:", err)
	}
	if err != nil || differences > 0 {
		os.Exit(1)
	}
}

// withEngine starts an engine for some work.
func withEngine(ctx context.Context, o options, work func(context.Context, options) (int, error)) (int, error) {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return 0, err
	}
	defer func() { _ = engine.Stop() }()
	o.Endpoint = engine.Endpoint()
	return work(ctx, o)
}

// runAll makes the runs one after another, and prints each and all.
func runAll(ctx context.Context, w io.Writer, o options, seeds int) (differences int, err error) {
	all := report{Faults: map[fault]int{}}
	began := time.Now()
	for range seeds {
		start := time.Now()
		one, err := torment(ctx, o)
		if err != nil {
			return all.Differences, err
		}
		fmt.Fprintf(w, "seed %d: %d increments (%d keyed), %d faults, %d differences, %.1f s\n",
			o.Seed, one.Increments, one.Keyed, sum(one.Faults), one.Differences, time.Since(start).Seconds())
		for _, line := range one.Description {
			fmt.Fprintln(w, "  DIFFERENCE", line)
		}
		all.add(one.totals)
		for f, n := range one.Faults {
			all.Faults[f] += n
		}
		o.Seed++
	}
	all.print(w, time.Since(began))
	return all.Differences, nil
}

func (r report) print(w io.Writer, took time.Duration) {
	row := func(name string, n any) { fmt.Fprintf(w, "%-50s %10v\n", name, n) }
	fmt.Fprintln(w)
	row("increments sent", r.Increments)
	row("  in keyed calls, all applied once", r.Keyed)
	row("  unkeyed and accepted", r.Accepted)
	row("  unkeyed, in calls without an answer", r.Unanswered)
	row("  unkeyed and refused", r.Increments-r.Keyed-r.Accepted-r.Unanswered)
	row("calls of the API, distinct", r.Calls)
	row("calls of the API, sent", r.Sends)
	row("writes of ingest that were applied", r.Writes)
	row("updates applied again after a lost answer", r.Extra)
	row("batches of the mappings", r.Batches)
	row("deliveries to the aggregator", r.Deliveries)
	row("folds that were applied", r.Folds)
	row("stream shards", r.Shards)
	row("poison records given up, by two mappings", r.GivenUp)
	row("counters compared", r.Counters)
	row("seconds", fmt.Sprintf("%.0f", took.Seconds()))
	fmt.Fprintln(w)
	for _, f := range kinds(r.Faults) {
		row(string(f), r.Faults[f])
	}
	row("faults injected", sum(r.Faults))
	fmt.Fprintln(w)
	row("differences", r.Differences)
}
