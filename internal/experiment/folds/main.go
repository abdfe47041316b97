// Command folds tries to make summaries drift. Callers send increments, half of them
// keyed, and events, some of them keyed, some twice, some with other data the second
// time, through ingest's HTTP handler, and two consumers fold the stream, on Amazon's
// own engine; calls to DynamoDB fail before or after they are applied, processes die
// in them, batches are cut, repeated and delivered late, stream shards split and
// rotate, shard counts change, write shards of counters are removed, records come
// that can't be folded, and rollups are compacted. Then everything comes to rest, and
// every summary is compared:
//
//	go run ./internal/experiment/folds -seeds 10 -increments 1000000 -events 200000
//
// What must hold, exactly: a counter's summary is the sum over its write shards; a
// keyed call is in it once; an unkeyed one at least once if it was accepted, and at
// most once more for each answer that was lost. Every accepted event is in the table
// once, and nothing else is; a rollup has the count, sum, minimum and maximum of the
// events in the table, reckoned here in fractions, each with the data that it came
// with first. What can't be folded is in the failure destination, and has held up
// nothing.
//
// Every fourth seed also loses a stretch of the stream for good. There an audit has
// to find what lost events, and rebuild has to mend it while the load goes on; in the
// end poison is mended and replayed, the rest is rebuilt, and all has to be right.
//
// A seed repeats what is drawn, while the engine and the scheduler decide who draws
// it. The command prints what it did and what differs, and ends with 1 if anything
// does.
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
	events := flag.Int("events", 200_000, "events in all runs together")
	entities := flag.Int("entities", 30, "entities of each run")
	flag.Parse()
	if flag.NArg() > 0 || *seeds < 1 || *increments < 0 || *counters < 2 || *events < 0 || *entities < 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	o := options{Seed: *first, Increments: *increments / *seeds, Counters: *counters, Events: *events / *seeds, Entities: *entities}
	differences, err := withEngine(ctx, o, *seeds)
	if err != nil {
		fmt.Fprintln(os.Stderr, "folds:", err)
	}
	if err != nil || differences > 0 {
		os.Exit(1)
	}
}

// withEngine makes all runs on an engine of their own.
func withEngine(ctx context.Context, o options, seeds int) (differences int, err error) {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return 0, err
	}
	defer func() { _ = engine.Stop() }()
	o.Endpoint = engine.Endpoint()
	return runAll(ctx, os.Stdout, o, seeds)
}

// Of the runs one in gapEvery has a gap in the stream, and of these some have the
// items of a partition key spread by their hash. DynamoDB spreads them by ranges,
// where an audit needs some marks a bucket, instead of hundreds: so that run has
// fewer events and entities.
const (
	gapEvery    = 4
	hashedEvery = 8
	fewerEvents = 20
	fewEntities = 3
)

// forSeed returns the options of one of many runs.
func (o options) forSeed(seed uint64) options {
	o.Seed, o.Spread = seed, local.ByItem
	switch {
	case seed%hashedEvery == 0:
		o.Gap, o.Events, o.Entities = true, o.Events/fewerEvents, min(o.Entities, fewEntities)
	case seed%gapEvery == 0:
		o.Gap, o.Spread = true, local.ByPartitionKey
	}
	return o
}

// runAll makes the runs one after another, and prints each and all.
func runAll(ctx context.Context, w io.Writer, o options, seeds int) (differences int, err error) {
	all := report{Faults: map[fault]int{}}
	began := time.Now()
	for seed := o.Seed; seed < o.Seed+uint64(seeds); seed++ {
		start := time.Now()
		one, err := torment(ctx, o.forSeed(seed))
		if err != nil {
			return all.Differences, err
		}
		fmt.Fprintf(w, "seed %d: %d increments (%d keyed), %d events (%d keyed), %d faults, %d differences, %.1f s\n",
			seed, one.Increments, one.Keyed, one.Events, one.EventsKeyed, sum(one.Faults), one.Differences, time.Since(start).Seconds())
		for _, line := range one.Description {
			fmt.Fprintln(w, "  DIFFERENCE", line)
		}
		all.add(one.totals)
		for f, n := range one.Faults {
			all.Faults[f] += n
		}
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
	row("events sent, in calls of their own", r.Events)
	row("  in keyed calls, all applied once", r.EventsKeyed)
	row("  sent again on purpose", r.EventsAgain)
	row("  accepted", r.EventsAccepted)
	row("events in the table, each once", r.EventItems)
	row("  put again with other data", r.EventsRestated)
	row("calls of the API, distinct", r.Calls)
	row("calls of the API, sent", r.Sends)
	row("writes of ingest that were applied", r.Writes)
	row("updates applied again after a lost answer", r.Extra)
	row("batches of the mappings", r.Batches)
	row("deliveries to the aggregator", r.Deliveries)
	row("folds that were applied", r.Folds)
	row("stream shards", r.Shards)
	row("counters compared", r.Counters)
	row("  write shards of theirs that were removed", r.Removed)
	row("event rollups compared", r.Buckets)
	row("  parts of theirs that were merged", r.Merged)
	row("records lost in gaps, by two mappings", r.Lost)
	row("  rollups that an audit did not take for right", r.Found)
	row("  rebuilt under load", r.Rebuilt)
	row("targets rebuilt in the end", r.RebuiltAtRest)
	row("failures replayed", r.Replayed)
	row("poison records, all in the failure destination", r.Poison)
	row("seconds", fmt.Sprintf("%.0f", took.Seconds()))
	fmt.Fprintln(w)
	for _, f := range kinds(r.Faults) {
		row(string(f), r.Faults[f])
	}
	row("faults injected", sum(r.Faults))
	fmt.Fprintln(w)
	row("differences", r.Differences)
}
