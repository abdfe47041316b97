package decoding

import (
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
)

// turn is the shortest CPU time of a method's turn.
const turn = 40 * time.Millisecond

// result has a method's measurements.
type result struct {
	method
	perBatch []time.Duration // CPU time, one for each round
	bytes    uint64          // bytes allocated for a batch
	allocs   uint64
}

// compare runs the methods in turns and prints a line for each.
func compare(w io.Writer, rounds int, payload []byte, keys map[string]int, records int) error {
	var results []*result
	for _, m := range methods() {
		if counts, err := m.count(payload); err != nil || counts != nil && !maps.Equal(counts, keys) {
			return fmt.Errorf("%s: %w, or wrong counts", m.name, err)
		}
		results = append(results, &result{method: m})
	}
	for range rounds {
		for _, r := range results {
			if err := r.turn(payload); err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	stock := median(results[0].perBatch)
	fmt.Fprintf(w, "%-32s %12s %9s %14s %12s\n", "", "ns/record", "ratio", "B/batch", "allocs/batch")
	for _, r := range results {
		cpu := median(r.perBatch)
		fmt.Fprintf(w, "%-32s %12.1f %8.1fx %14d %12d\n", r.name, float64(cpu)/float64(records), float64(stock)/float64(cpu), r.bytes, r.allocs)
	}
	return nil
}

// turn adds a measurement.
func (r *result) turn(payload []byte) error {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, batches := require.CPUTime(), 0
	for require.CPUTime()-start < turn {
		if _, err := r.count(payload); err != nil {
			return err
		}
		batches++
	}
	spent := require.CPUTime() - start
	runtime.ReadMemStats(&after)
	r.perBatch = append(r.perBatch, spent/time.Duration(batches))
	r.bytes = (after.TotalAlloc - before.TotalAlloc) / uint64(batches)
	r.allocs = (after.Mallocs - before.Mallocs) / uint64(batches)
	return nil
}

func median(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }
