// Package scatter measures reads of a range that is spread over write shards: hotshard's
// merged stream, a sequential loop with the bare SDK, and the same reads with
// guregu/dynamo v2.3.0, sequential and parallel.
package scatter

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Program is the experiment.
var Program = rig.Program{Name: "scatter", About: "reads of a range over write shards, beside other libraries", HeapMB: 128, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	rounds := f.Int("rounds", 30, "reads of each way; 3 or more")
	return func(ctx context.Context, r *rig.Run) error {
		fmt.Fprintf(r, head, items)
		for _, n := range []int{1, 10, 50, 200} {
			if err := compare(ctx, r, r.Endpoint, n, *rounds); err != nil {
				return fmt.Errorf("%d write shards: %w", n, err)
			}
		}
		return nil
	}
}}

const items = 2000

const head = `%d items of about 200 bytes over the write shards, all read in the order of their sort keys;
each way's answer is compared with the others'. Ways take turns in one process. With a round
trip of 5 ms every request waits so long before it is sent, which stands for a network; the
engine takes the same two cores as the client. Parallel is 16 requests at a time.

| write shards | round trip | way | p50 | p99 | requests | read units |
| ---: | ---: | --- | ---: | ---: | ---: | ---: |
`

// store is a table with its items over n write shards. All is read through the meter,
// which limits nothing.
type store struct {
	*rig.Tables
	n    int
	want []string // sort keys
}

func compare(ctx context.Context, w io.Writer, endpoint string, n, rounds int) error {
	return rig.With(ctx, endpoint, limiter.Options{}, func(t *rig.Tables) error {
		s := &store{Tables: t, n: n}
		err := s.fill(ctx)
		for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
			if err == nil {
				err = s.measure(ctx, w, delay, rounds)
			}
		}
		return err
	})
}

func (s *store) table() *table.Table {
	return &table.Table{Client: s.Meter.Client, Name: s.Names.Rollups, PartitionKey: "pk", SortKey: "sk", Shards: table.Fixed(s.n), Layout: table.CalculatedSuffix{}}
}

func (s *store) fill(ctx context.Context) error {
	for i := range items {
		s.want = append(s.want, fmt.Sprintf("2026-01-05#%06d", i))
	}
	return rig.Together(ctx, items, func(ctx context.Context, i int) error {
		return s.table().Put(ctx, table.Item{"pk": rig.S("acme"), "sk": rig.S(s.want[i]), "data": rig.S(strings.Repeat("x", 150))}, time.Now())
	})
}

// measure prints a row for each way. They take turns, after one round that warms up.
func (s *store) measure(ctx context.Context, w io.Writer, delay time.Duration, rounds int) error {
	s.Meter.Delay = delay
	times := make([][]time.Duration, len(ways))
	costs := make([]rig.Cost, len(ways))
	for round := range rounds + 1 {
		for i, way := range ways {
			var got []string
			var err error
			begin := time.Now()
			costs[i], err = s.Meter.Cost(func() error { got, err = way.read(ctx, s); return err })
			took := time.Since(begin)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			if !slices.Equal(got, s.want) {
				return fmt.Errorf("%s: read %d items, want %d, or not in order", way.name, len(got), len(s.want))
			}
			if round > 0 {
				times[i] = append(times[i], took)
			}
		}
	}
	at := func(i int, q float64) time.Duration { return rig.Quantile(times[i], q).Round(100 * time.Microsecond) }
	for i, way := range ways {
		slices.Sort(times[i])
		fmt.Fprintf(w, "| %d | %s | %s | %s | %s | %d | %.1f |\n", s.n, delay, way.name, at(i, 0.5), at(i, 0.99), costs[i].Requests, costs[i].ReadUnits)
	}
	return nil
}
