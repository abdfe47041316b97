// Package freshness measures how soon an increment is in its counter's summary, and
// whether the aggregators of many stream shards get in each other's way, on
// Amazon's own engine with the event source mapping of the local runner.
//
// The first writes increments at a steady rate, and reads the summary all the time.
// An increment is visible when an eventually consistent read has counted it; the time
// runs from the answer to the write. There is a run for each batching window.
//
// With -wide it has one counter, then one entity, over 200 write shards on 20
// stream shards. It counts the updates that the aggregators make, and those that fail by
// their condition, and fails when a counter has any after the first fifth of the time.
package freshness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Program is the experiment.
var Program = rig.Program{Name: "freshness", About: "how soon increments are in summaries, and whether folds meet", HeapMB: 128, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	wide := f.Bool("wide", false, "one key over many write shards and stream shards")
	rate := f.Float64("rate", 150, "writes a second")
	seconds := f.Int("seconds", 30, "of each run")
	return func(ctx context.Context, r *rig.Run) (err error) {
		p := pace{*rate, time.Duration(*seconds) * time.Second}
		if *wide {
			return compareWide(ctx, r, p)
		}
		return compareWindows(ctx, r, p)
	}
}}

// pace is how writes come.
type pace struct {
	rate    float64 // a second
	lasting time.Duration
}

// maxWriters bounds the writes under way. When all are, further ones come late.
const maxWriters = 32

// write makes writes, numbered from 0, at their times.
func (p pace) write(ctx context.Context, one func(ctx context.Context, i int) error) error {
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(maxWriters)
	n := 0
	rig.Pace(writing, p.lasting, rig.Steady(p.rate), func(time.Time) {
		i := n
		n++
		group.Go(func() error { return one(writing, i) })
	})
	return errors.Join(group.Wait(), ctx.Err())
}

// windows are the batching windows that are compared.
var windows = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}

// compareWindows measures all windows, and prints a table.
func compareWindows(ctx context.Context, r *rig.Run, p pace) error {
	fmt.Fprintln(r, "| batching window | increments | p50 | p99 | max | later than two windows | a look at the summary |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, window := range windows {
		w := watch{}
		err := rig.With(ctx, r.Endpoint, func(t *rig.Tables) error { return w.measure(ctx, t, p, window) })
		if err != nil {
			return fmt.Errorf("batching window of %v: %w", window, err)
		}
		w.print(r, window)
	}
	return nil
}

// watch knows when increments of the counter were answered, and how long each took to be
// visible.
type watch struct {
	mu       sync.Mutex
	answered []time.Time
	took     []time.Duration // of those that are visible, which are the first
	reads    []time.Duration // that looks took
}

const (
	counter     = "a"
	writeShards = 64 // of which one is read as it is
	streamPoll  = 20 * time.Millisecond
	summaryPoll = 5 * time.Millisecond
	patience    = 30 * time.Second // for the last writes to be folded, beside their windows
)

func (w *watch) measure(ctx context.Context, t *rig.Tables, p pace, window time.Duration) error {
	handler, err := t.Aggregator(t.DB)
	if err != nil {
		return err
	}
	source, err := t.Stream(ctx, t.Names.Items)
	if err != nil {
		return err
	}
	m, err := t.Mapping(eventsource.MappingOptions{Name: "aggregator", Source: source, Handler: handler, BatchingWindow: window, PollInterval: streamPoll})
	if err != nil {
		return err
	}
	if err := t.Pin(ctx, schema.BaseKey{Type: kind.Counter, Name: counter}, writeShards, time.Now()); err != nil {
		return err
	}
	view := shardmap.New(t.DB, t.Names.ShardMap, shardmap.Options{})
	writer := counters.NewWriter(t.DB, t.Names.Items, view, counters.Options{})
	summaries := counters.NewSummaries(t.DB, t.Names.Items, t.Names.Rollups, view)
	return rig.During(ctx, m, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, p.lasting+2*window+patience)
		defer cancel()
		group, ctx := errgroup.WithContext(ctx)
		written := make(chan struct{})
		group.Go(func() error {
			defer close(written)
			return p.write(ctx, func(ctx context.Context, _ int) error {
				err := writer.Add(ctx, counter, 1, time.Now())
				w.mu.Lock()
				defer w.mu.Unlock()
				w.answered = append(w.answered, time.Now())
				return err
			})
		})
		group.Go(func() error { return w.pollSummary(ctx, summaries, written) })
		return group.Wait()
	})
}

// pollSummary reads the summary until it has all written increments.
func (w *watch) pollSummary(ctx context.Context, summaries *counters.Summaries, written <-chan struct{}) error {
	for done, over := false, false; !over; {
		select {
		case <-written:
			done = true
		default:
		}
		began := time.Now()
		values, err := summaries.Read(ctx, []string{counter}, began)
		if err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			return fmt.Errorf("%d of %d increments are visible: %w", len(w.took), len(w.answered), err)
		}
		now := time.Now()
		w.mu.Lock()
		w.reads = append(w.reads, now.Sub(began))
		for n := int(values[0].Value.Int64()); len(w.took) < min(n, len(w.answered)); {
			w.took = append(w.took, max(0, now.Sub(w.answered[len(w.took)])))
		}
		over = done && len(w.took) == len(w.answered)
		w.mu.Unlock()
		rig.Sleep(ctx, summaryPoll)
	}
	return nil
}

func (w *watch) print(out io.Writer, window time.Duration) {
	slices.Sort(w.took)
	slices.Sort(w.reads)
	onTime, _ := slices.BinarySearch(w.took, 2*window+1)
	at := func(q float64) float64 { return rig.Millis(rig.Quantile(w.took, q)) }
	fmt.Fprintf(out, "| %.1f s | %d | %.0f ms | %.0f ms | %.0f ms | %d | %.1f ms |\n",
		window.Seconds(), len(w.took), at(0.5), at(0.99), at(1), len(w.took)-onTime, rig.Millis(rig.Quantile(w.reads, 0.5)))
}
