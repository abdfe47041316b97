package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"


	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// windows are the batching windows that are compared.
var windows = []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second}

// poll is how often the stream is read, and how often the summaries.
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
	r, err := newRig(ctx, endpoint)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	handler, err := r.aggregator(r.db)
	if err != nil {
		return f, err
	}
	m, err := r.mapping(r.source, handler, window, streamPoll)
	if err != nil {
		return f, err
	}
	w := newWatch(r)
	err = during(ctx, m, func(ctx context.Context) error { return w.observe(ctx, p, window) })
	return w.result(p, window), err
}

// observe writes, and looks until all is visible.
func (w *watch) observe(ctx context.Context, p pace, window time.Duration) error {
	writer := counters.NewWriter(w, w.rig.names.Items, shardmap.New(w.rig.db, w.rig.names.ShardMap, shardmap.Options{}), counters.Options{})
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
		f.Quantiles = append(f.Quantiles, ms(quantile(w.took, float64(percent)/100)))
	}
	f.P50, f.P99, f.Max = f.Quantiles[50], f.Quantiles[99], f.Quantiles[100]
	f.Read = ms(quantile(w.reads, 0.5))
	f.Rate = float64(len(w.took)) / max(p.lasting, w.last.Sub(w.first)).Seconds()
	return f
}

// ms is in milliseconds, to a tenth.
func ms(d time.Duration) float64 {
	return float64(d.Round(100*time.Microsecond)) / float64(time.Millisecond)
}

// quantile of a sorted list; 0 of none.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
