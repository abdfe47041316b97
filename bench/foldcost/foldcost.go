// Package foldcost compares what it costs to fold a table's stream into summaries:
// an update for each record, as stream handlers usually do it, a transaction with a
// marker for each record, as they do it when they mind repeats, and hotshard's
// aggregator. It folds the same records in each way on Amazon's own engine, behind
// the partition limiter, and prints the write units that the limiter counts, as
// tables.
//
// The summaries are added up in the end, and how far the total is off is in the
// table. The experiment fails if hotshard's is, or if it makes more than 1.1 updates
// for each summary of a batch that came once.
package foldcost

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/hotshard/hotshard/bench/rig"
)

// Program is the experiment.
var Program = rig.Program{Name: "foldcost", About: "what it costs to fold a stream", HeapMB: 128, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	records := f.Int("records", 50_000, "records that are folded; in some runs fewer or more, as the tables say")
	return func(ctx context.Context, r *rig.Run) error {
		for _, l := range loads(*records) {
			if err := l.print(ctx, r, r.Endpoint); err != nil {
				return err
			}
		}
		return nil
	}
}}

// loads are those that are measured.
func loads(records int) []load {
	few, many := load{targets: 1_000, sources: 1, records: records}, load{targets: 100_000, sources: 1, records: records}
	list := []load{few, many}
	for _, change := range []func(*load){
		func(l *load) { l.sources = 16 },
		func(l *load) { l.sources = 64 },
		func(l *load) { l.events = true },
		func(l *load) { l.faults = true },
		func(l *load) { l.targets, l.faults = many.targets, true },
		func(l *load) { l.events, l.faults = true, true },
	} {
		l := few
		l.short = true
		change(&l)
		list = append(list, l)
	}
	return list
}

// mostUpdates is how many hotshard may make for each summary of a batch.
const mostUpdates = 1.1

// print folds a load in all ways, and prints a table of what they cost.
func (l load) print(ctx context.Context, w io.Writer, endpoint string) error {
	fmt.Fprintf(w, "\n%s:\n\n", l)
	fmt.Fprintln(w, "| way | batch | records | write units | units a record | ratio | updates | of these failed | distinct summaries, by batch | updates each | total is off by |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	var naive float64
	for _, y := range ways {
		c, err := measure(ctx, endpoint, l.with(y), y)
		if err != nil {
			return err
		}
		naive = cmp.Or(naive, c.each(c.units))
		fmt.Fprintf(w, "| %s | %s | %d | %.0f | %.3f | %.3f | %d | %d | %s | %s | %d |\n",
			y.name, y.batched(y.batch), c.records, c.units, c.each(c.units), c.each(c.units)/naive,
			c.calls, c.failed, y.batched(c.distinct), y.batched(fmt.Sprintf("%.3f", c.updates())), c.off)
		if y.batch > 0 && (c.off != 0 || !l.faults && c.updates() > mostUpdates) {
			return fmt.Errorf("%s: the total is off by %d, with %.3f updates for each summary", l, c.off, c.updates())
		}
	}
	return nil
}

// with is what a way folds of a load: at least so much that some batches come
// again, if any do, and less where a record costs the same whatever is beside it.
func (l load) with(y way) load {
	switch {
	case y.batch == 0 && l.short:
		l.records = max(l.records/5, 1)
	case l.faults:
		l.records = max(l.records, faultEvery*y.batch)
	}
	return l
}

// each is a number for each record.
func (c cost) each(n float64) float64 { return n / float64(c.records) }

// updates is how many a summary took, in each batch.
func (c cost) updates() float64 { return float64(c.calls) / float64(c.distinct) }

// batched shows what is about batches, where they make a difference.
func (y way) batched(value any) string {
	if y.batch == 0 {
		return "any"
	}
	return fmt.Sprint(value)
}
