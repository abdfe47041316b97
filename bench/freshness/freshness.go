// Package freshness measures how soon an increment is in its counter's summary, and
// whether the aggregators of many stream shards get in each other's way, on
// Amazon's own engine with the event source mapping of the local runner.
//
// The first writes increments at a steady rate, and reads summaries all the time.
// An increment is visible when an eventually consistent read has its rev; the time
// runs from the answer to the write. There is a run for each batching window.
//
// With -wide it has one counter, then one entity, over 200 write shards on 20
// stream shards. It counts the updates that the aggregators make for each summary
// item of a batch, and those that fail by their condition, and fails when a
// counter has any after the first fifth of the time.
package freshness

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Program is the experiment.
var Program = rig.Program{Name: "freshness", About: "how soon increments are in summaries, and whether folds meet", HeapMB: 128, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	wide := f.Bool("wide", false, "one key over many write shards and stream shards")
	rate := f.Float64("rate", 150, "writes a second")
	seconds := f.Int("seconds", 30, "of each run")
	raw := f.String("json", "", "a `file` for the raw results")
	return func(ctx context.Context, r *rig.Run) (err error) {
		p := pace{*rate, time.Duration(*seconds) * time.Second}
		var results any
		if *wide {
			results, err = compareWide(ctx, r, r.Endpoint, p)
		} else {
			results, err = compareWindows(ctx, r, r.Endpoint, p)
		}
		if err != nil || *raw == "" {
			return err
		}
		text, err := json.Marshal(results)
		if err != nil {
			return err
		}
		return os.WriteFile(*raw, append(text, '\n'), 0o644)
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

// patience is how long the last writes may take to be folded, beside their windows.
const patience = 30 * time.Second

// How often the stream is read, and how often the summaries.
const (
	streamPoll  = 20 * time.Millisecond
	summaryPoll = 5 * time.Millisecond
)

// names are those of the counters that are written. Each has one write shard.
var names = []string{"a", "b", "c", "d"}

// freshness is how long increments took to be visible, in milliseconds.
type freshness struct {
	Window     float64   `json:"batching_window_ms"`
	Increments int       `json:"increments"`
	Rate       float64   `json:"increments_a_second"` // as they were answered
	P50        float64   `json:"p50_ms"`
	P99        float64   `json:"p99_ms"`
	Max        float64   `json:"max_ms"`
	Late       int       `json:"later_than_two_windows"`
	Read       float64   `json:"read_p50_ms"`    // what one look at the summaries took, which is within the figures
	Quantiles  []float64 `json:"percentiles_ms"` // the 0th to the 100th
}

// compareWindows measures all windows, and prints a table.
func compareWindows(ctx context.Context, w io.Writer, endpoint string, p pace) (results []freshness, err error) {
	fmt.Fprintln(w, "| batching window | increments | a second | p50 | p99 | max | later than two windows | a look at the summaries |")
	fmt.Fprintln(w, "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, window := range windows {
		f, err := measureWindow(ctx, endpoint, p, window)
		if err != nil {
			return results, fmt.Errorf("batching window of %v: %w", window, err)
		}
		fmt.Fprintf(w, "| %.1f s | %d | %.0f | %.0f ms | %.0f ms | %.0f ms | %d | %.1f ms |\n",
			window.Seconds(), f.Increments, f.Rate, f.P50, f.P99, f.Max, f.Late, f.Read)
		results = append(results, f)
	}
	return results, nil
}

func measureWindow(ctx context.Context, endpoint string, p pace, window time.Duration) (f freshness, err error) {
	t, err := rig.NewTables(ctx, endpoint, limiter.Options{})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	handler, err := t.Aggregator(t.DB)
	if err != nil {
		return f, err
	}
	source, err := t.Stream(ctx)
	if err != nil {
		return f, err
	}
	m, err := t.Mapping(eventsource.MappingOptions{Name: "aggregator", Source: source, Handler: handler, BatchingWindow: window, PollInterval: streamPoll})
	if err != nil {
		return f, err
	}
	w := newWatch(t)
	err = rig.During(ctx, m, func(ctx context.Context) error { return w.observe(ctx, p, window) })
	return w.result(p, window), err
}

// observe writes, and looks until all is visible.
func (w *watch) observe(ctx context.Context, p pace, window time.Duration) error {
	writer := counters.NewWriter(w, w.Names.Items, shardmap.New(w.DB, w.Names.ShardMap, shardmap.Options{}), counters.Options{})
	written := make(chan error, 1)
	go func() {
		written <- p.write(ctx, func(ctx context.Context, i int) error {
			return writer.Add(ctx, names[i%len(names)], 1, time.Now())
		})
	}()
	deadline := time.Now().Add(p.lasting + 2*window + patience)
	for done := false; !done || w.waiting() > 0; {
		if err := w.look(ctx); err != nil {
			return err
		}
		select {
		case err := <-written:
			if done = true; err != nil {
				return err
			}
		case <-time.After(summaryPoll):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d increments are not visible", w.waiting())
		}
	}
	return nil
}

func (w *watch) result(p pace, window time.Duration) freshness {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := freshness{Window: ms(window), Increments: len(w.took)}
	slices.Sort(w.took)
	slices.Sort(w.reads)
	for _, d := range w.took {
		if d > 2*window {
			f.Late++
		}
	}
	for percent := range 101 {
		f.Quantiles = append(f.Quantiles, ms(rig.Quantile(w.took, float64(percent)/100)))
	}
	f.P50, f.P99, f.Max = f.Quantiles[50], f.Quantiles[99], f.Quantiles[100]
	f.Read = ms(rig.Quantile(w.reads, 0.5))
	f.Rate = float64(len(w.took)) / max(p.lasting, w.last.Sub(w.first)).Seconds()
	return f
}

// ms is in milliseconds, to a tenth.
func ms(d time.Duration) float64 {
	return rig.Millis(d.Round(100 * time.Microsecond))
}
