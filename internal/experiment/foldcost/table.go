package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
)

// mostUpdates is how many hotshard may make for each summary of a batch.
const mostUpdates = 1.1

// print folds a load in all ways, and prints a table of what they cost.
func (l load) print(ctx context.Context, w io.Writer, endpoint string) error {
	fmt.Fprintf(w, "\n%s:\n\n", l)
	fmt.Fprintln(w, "| way | batch | records | write units | of these for failed conditions | units a record | ratio | updates | of these failed | distinct summaries, by batch | updates each | total is off by |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	var naive float64
	for _, y := range ways {
		c, err := measure(ctx, endpoint, l.with(y), y)
		if err != nil {
			return err
		}
		naive = cmp.Or(naive, c.each(c.units))
		fmt.Fprintf(w, "| %s | %s | %d | %.0f | %.0f | %.3f | %.3f | %d | %d | %s | %s | %d |\n",
			y.name, y.batched(y.batch), c.records, c.units, c.failedUnits, c.each(c.units), c.each(c.units)/naive,
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
