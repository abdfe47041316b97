package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/pkg/shard"
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

func (r *rig) tables(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, `%d items of about 200 bytes, two hours of one name (or of 100 names in turn). Reads are
"requests / read units", eventually consistent but for one item's: the last ten minutes, one
hour, all, a COUNT of all, one item.

| pattern | partition keys | hottest key's share | write units an item | ten minutes | an hour | all | count | one item |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`, r.items)
	for _, p := range patterns {
		if err := r.measure(ctx, w, p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (r *rig) measure(ctx context.Context, w io.Writer, p pattern) error {
	m, err := r.meter(unlimited)
	if err != nil {
		return err
	}
	if err := m.table(ctx, "items"); err != nil {
		return err
	}
	t := &table.Table{Client: m.client, Name: "items", PartitionKey: "pk", SortKey: "sk", Shards: p.shards, Layout: p.layout}
	writes, err := m.cost(func() error { return r.write(ctx, t, p.names) })
	if err != nil {
		return err
	}
	share, keys := writes.hottest()
	fmt.Fprintf(w, "| %s | %d | %.1f %% | %.2f |", p.name, keys, 100*share, writes.stats.WriteUnits/float64(r.items))
	for _, read := range r.reads(ctx, t) {
		c, err := m.cost(read)
		cell := c.reads()
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

// write puts the items, evenly over two hours.
func (r *rig) write(ctx context.Context, t *table.Table, names int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range r.items {
		group.Go(func() error { return t.Put(ctx, r.item(i, names)) })
	}
	return group.Wait()
}

func (r *rig) item(i, names int) table.Item {
	at := start.Add(2 * time.Hour * time.Duration(i) / time.Duration(r.items))
	return table.Item{
		"pk":   text(fmt.Sprintf("name-%d", i%names)),
		"sk":   text(shard.Millis.Key(at, "#", fmt.Sprintf("%08d", i))),
		"data": text(strings.Repeat("x", 150)),
	}
}

// reads are those that are measured, of the name-0.
func (r *rig) reads(ctx context.Context, t *table.Table) []func() error {
	end := start.Add(2 * time.Hour)
	all := table.During(shard.Millis, start, end)
	stream := func(s table.Span) func() error {
		return func() error {
			for _, err := range t.Query(ctx, "name-0", s) {
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
		func() error { _, err := t.Count(ctx, "name-0", all); return err },
		func() error { _, err := t.Get(ctx, r.item(0, 1)); return err },
	}
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
