// Package folds tries to make summaries drift. Callers send increments, half of them
// keyed, and events, some of them keyed, some twice, some with other data the second
// time, through ingest's HTTP handler, and two consumers fold the stream, on Amazon's
// own engine. Calls to DynamoDB fail before or after they are applied, processes die
// in them, batches are cut, repeated and delivered late, stream shards split and
// rotate, shard counts change, write shards of counters are removed, records come
// that can't be folded, and rollups are compacted. Then everything comes to rest, and
// every summary is compared.
//
// What must hold, exactly: a counter's summary is the sum over its write shards, and
// that is the sum of the writes that were applied. A keyed call is in it once. Unkeyed
// ones were applied as often as they were accepted, and once more at most for each answer
// that was lost. Every accepted event is in the table once, and nothing else is; a
// rollup is what its events come to, each with the data that it came with first. What
// can't be folded is in the failure destination, and has held up nothing.
//
// Every fourth seed also loses a stretch of the stream for good. There an audit has to
// find what lost events, and mend it while the load goes on; in the end poison is mended
// and replayed, the rest is rebuilt, and all has to be right.
//
// A seed repeats what is drawn, while the engine and the scheduler decide who draws
// it. The experiment prints what it did and what differs, and fails if anything does.
package folds

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/test/virtualstream"
)

// Program is the experiment.
var Program = rig.Program{Name: "folds", About: "whether summaries are exact, whatever fails", HeapMB: 128, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	seeds := f.Int("seeds", 10, "runs, each with a seed and tables of its own")
	first := f.Uint64("seed", 1, "the first seed")
	increments := f.Int("increments", 1_000_000, "increments in all runs together")
	counters := f.Int("counters", 60, "counters of each run; 2 or more")
	events := f.Int("events", 200_000, "events in all runs together")
	entities := f.Int("entities", 30, "entities of each run; 2 or more")
	return func(ctx context.Context, r *rig.Run) error {
		if *seeds < 1 || *counters < 2 || *entities < 2 {
			return errors.New("want a run, two counters and two entities at least")
		}
		o := options{Endpoint: r.Endpoint, Seed: *first, Increments: *increments / *seeds, Counters: *counters, Events: *events / *seeds, Entities: *entities}
		n, err := runAll(ctx, r, o, *seeds)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d differences", n)
		}
		return err
	}
}}

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
	o.Seed, o.Spread = seed, virtualstream.ByItem
	switch {
	case seed%hashedEvery == 0:
		o.Gap, o.Events, o.Entities = true, o.Events/fewerEvents, min(o.Entities, fewEntities)
	case seed%gapEvery == 0:
		o.Gap, o.Spread = true, virtualstream.ByPartitionKey
	}
	return o
}

// runAll makes the runs one after another, prints each and all, and counts the differences.
func runAll(ctx context.Context, w io.Writer, o options, seeds int) (n int, err error) {
	var all report
	began := time.Now()
	for seed := o.Seed; seed < o.Seed+uint64(seeds); seed++ {
		start := time.Now()
		one, err := torment(ctx, o.forSeed(seed))
		if err != nil {
			return n, err
		}
		fmt.Fprintf(w, "seed %d: %d increments (%d keyed), %d events (%d keyed), %d faults, %d differences, %.1f s\n", seed, one.of(incrementsSent),
			one.of(incrementsKeyed), one.of(eventsSent), one.of(eventsKeyed), one.faults(), one.of(differences), time.Since(start).Seconds())
		for _, line := range one.described {
			fmt.Fprintln(w, "  DIFFERENCE", line)
		}
		n += one.of(differences)
		all.addAll(one)
	}
	all.print(w)
	fmt.Fprintf(w, "%.0f s\n", time.Since(began).Seconds())
	return n, nil
}

// torment makes one run: load and faults, then quiescence, then the comparison.
func torment(ctx context.Context, o options) (rep *report, err error) {
	s, err := newSystem(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, step := range []func(context.Context) error{s.load, s.quiesce, s.compare} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("seed %d: %w", o.Seed, err)
		}
	}
	for _, of := range s.streams {
		s.count("stream shards", len(of.virtual.Load().Plan().Shards))
	}
	return &s.report, nil
}
