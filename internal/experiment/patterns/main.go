// Command patterns measures what each sharding pattern costs: how it spreads the
// writes of one hot name, and what reads of it take in queries and read units. It
// writes the same items in each pattern on Amazon's own engine, behind the partition
// limiter, which counts the units that AWS would charge, and prints tables:
//
//	go run ./internal/experiment/patterns > docs/performance/patterns.txt
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
	items := flag.Int("items", 7200, "items of the hot name, over two hours; 720 or more")
	flag.Parse()
	if flag.NArg() > 0 || *items < 720 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *items); err != nil {
		fmt.Fprintln(os.Stderr, "patterns:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, items int) (err error) {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	fmt.Fprintf(w, "go run ./internal/experiment/patterns -items %d\n%s, %s, DynamoDB Local in memory\n\n",
		items, time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version())
	r := &rig{endpoint: engine.Endpoint(), items: items}
	for _, part := range []func(context.Context, io.Writer) error{r.tables, r.counters, r.openings, r.jitter} {
		if err := part(ctx, w); err != nil {
			return err
		}
	}
	return nil
}
