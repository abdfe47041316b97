// Package patterns measures what each sharding pattern costs: how it spreads the
// writes of one hot name, and what reads of it take in queries and read units. It
// writes the same items in each pattern on Amazon's own engine, behind the partition
// limiter, which counts the units that AWS would charge, and prints tables.
package patterns

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// Program is the experiment.
var Program = rig.Program{Name: "patterns", About: "what each sharding pattern costs", HeapMB: 128, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	items := f.Int("items", 7200, "items of the hot name, over two hours; 720 or more")
	return func(ctx context.Context, r *rig.Run) error {
		if err := (store{r.Endpoint, *items}).all(ctx, r); err != nil {
			return err
		}
		for _, part := range []func(context.Context, io.Writer, string) error{tallies, tryBoards, openings, jitters} {
			if err := part(ctx, r, r.Endpoint); err != nil {
				return err
			}
		}
		return nil
	}
}}

// start and end are of the items: two hours, two of the hour buckets.
var (
	start = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	end   = start.Add(2 * time.Hour)
)

// pattern is a way to shard a table.
type pattern struct {
	name   string
	layout table.Layout
	shards table.Counts
	names  int // that share the items
}

// storm is a count that is 20 for ten minutes, and 2 before and after.
type storm struct{}

func (storm) Lookup(context.Context, string, time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{Version: 3, Max: 20, History: shard.History{
		{At: start.Add(-time.Hour), Count: 2}, {At: start.Add(30 * time.Minute), Count: 20}, {At: start.Add(40 * time.Minute), Count: 2},
	}}, nil
}

var patterns = []pattern{
	{"unsharded", table.Unsharded{}, table.Fixed(1), 1},
	{"random suffix, N = 10", table.RandomSuffix{}, table.Fixed(10), 1},
	{"calculated suffix, N = 10", table.CalculatedSuffix{}, table.Fixed(10), 1},
	{"over-sharded: random suffix, N = 200", table.RandomSuffix{}, table.Fixed(200), 1},
	{"hour buckets, N = 10", table.TimeBuckets{Bucket: shard.Hour, By: "sk"}, table.Fixed(10), 1},
	{"minute buckets, N = 10", table.TimeBuckets{Bucket: shard.Minute, By: "sk"}, table.Fixed(10), 1},
	{"over-sharded: hour buckets, N = 20", table.TimeBuckets{Bucket: shard.Hour, By: "sk"}, table.Fixed(20), 1},
	{"dynamic: hour buckets, N = 20 for ten minutes, else 2", table.TimeBuckets{Bucket: shard.Hour, By: "sk"}, storm{}, 1},
	{"hybrid day buckets, N = 10, 100 names", table.HybridBuckets{Bucket: shard.Day}, table.Fixed(10), 100},
}

// store is the table, and how much is written.
type store struct {
	endpoint string
	items    int
}

const itemsHead = `%d items of about 200 bytes, two hours of one name (or of 100 names in turn). Reads are
"requests / read units", eventually consistent but for one item's: the last ten minutes, one
hour, all, a COUNT of all, one item.

| pattern | partition keys | hottest key's share | write units an item | ten minutes | an hour | all | count | one item |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

func (s store) all(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, itemsHead, s.items)
	for _, p := range patterns {
		err := rig.With(ctx, s.endpoint, limiter.Options{}, func(t *rig.Tables) error { return s.measure(ctx, w, t, p) })
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (s store) measure(ctx context.Context, w io.Writer, tables *rig.Tables, p pattern) error {
	m := tables.Meter
	t := &table.Table{Client: m.Client, Name: tables.Names.Rollups, PartitionKey: "pk", SortKey: "sk", Shards: p.shards, Layout: p.layout}
	writes, err := m.Cost(func() error {
		return rig.Together(ctx, s.items, func(ctx context.Context, i int) error { return t.Put(ctx, s.item(i, p.names), end) })
	})
	if err != nil {
		return err
	}
	share, keys := writes.Hottest()
	fmt.Fprintf(w, "| %s | %d | %.1f %% | %.2f |", p.name, keys, 100*share, writes.WriteUnits/float64(s.items))
	for _, read := range s.reads(ctx, t) {
		c, err := m.Cost(read)
		cell := c.Reads()
		if err != nil && strings.Contains(err.Error(), "can't be found singly") {
			cell, err = "-", nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(w, " %s |", cell)
	}
	fmt.Fprintln(w)
	return nil
}

// item is one of those that are spread evenly over two hours.
func (s store) item(i, names int) table.Item {
	at := start.Add(2 * time.Hour * time.Duration(i) / time.Duration(s.items))
	return table.Item{
		"pk":   rig.S(fmt.Sprintf("name-%d", i%names)),
		"sk":   rig.S(shard.Millis.Key(at, "#", fmt.Sprintf("%08d", i))),
		"data": rig.S(strings.Repeat("x", 150)),
	}
}

// reads are those that are measured, of the name-0.
func (s store) reads(ctx context.Context, t *table.Table) []func() error {
	all := table.During(shard.Millis, start, end)
	stream := func(span table.Span) func() error {
		return func() error {
			for _, err := range t.Query(ctx, "name-0", span, end) {
				if err != nil {
					return err
				}
			}
			return nil
		}
	}
	return []func() error{
		stream(table.During(shard.Millis, end.Add(-10*time.Minute), end)),
		stream(table.During(shard.Millis, end.Add(-time.Hour), end)),
		stream(all),
		func() error { _, err := t.Count(ctx, "name-0", all, end); return err },
		func() error { _, err := t.Get(ctx, s.item(0, 1), end); return err },
	}
}
