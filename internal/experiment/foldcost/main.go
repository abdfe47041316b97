// Command foldcost compares what it costs to fold a table's stream into summaries:
// an update for each record, as stream handlers usually do it, a transaction with a
// marker for each record, as they do it when they mind repeats, and hotshard's
// aggregator. It folds the same records in each way on Amazon's own engine, behind
// the partition limiter, and prints the write units that the limiter counts, as
// tables:
//
//	go run ./internal/experiment/foldcost > docs/performance/folds-cost.txt
//
// The summaries are added up in the end, and how far the total is off is in the
// table. The command ends with 1 if hotshard's is, or if it makes more than 1.1
// updates for each summary of a batch that came once.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/hotshard/hotshard/internal/local"
)

func main() {
	records := flag.Int("records", 50_000, "records that are folded; in some runs fewer or more, as the tables say")
	flag.Parse()
	if flag.NArg() > 0 || *records < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *records); err != nil {
		fmt.Fprintln(os.Stderr, "foldcost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, records int) (err error) {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	fmt.Fprintf(w, "go run ./internal/experiment/foldcost -records %d\n%s, %s, DynamoDB Local in memory\n",
		records, time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version())
	for _, l := range loads(records) {
		if err := l.print(ctx, w, engine.Endpoint()); err != nil {
			return err
		}
	}
	return nil
}

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
