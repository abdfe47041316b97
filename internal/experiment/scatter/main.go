// Command scatter measures reads of a range that is spread over write shards: hotshard's
// merged stream, a sequential loop with the bare SDK, and the same reads with
// guregu/dynamo, sequential and parallel.
//
//	cd internal/experiment/scatter && go run . > ../../../docs/performance/scatter.txt
//
// It is a module of its own, so that guregu/dynamo is no dependency of anything else.
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
	rounds := flag.Int("rounds", 30, "reads of each way; 3 or more")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 3 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "scatter:", err)
		os.Exit(1)
	}
}

const head = `%d items of about 200 bytes over the write shards, all read in the order of their sort keys;
each way's answer is compared with the others'. Ways take turns in one process. With a round
trip of 5 ms every request waits so long before it is sent, which stands for a network; the
engine takes the same two cores as the client. Parallel is 16 requests at a time.

| write shards | round trip | way | p50 | p99 | requests | read units |
| ---: | ---: | --- | ---: | ---: | ---: | ---: |
`

func run(ctx context.Context, w io.Writer, rounds int) (err error) {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	fmt.Fprintf(w, "go run . -rounds %d\n%s, %s, guregu/dynamo v2.3.0, DynamoDB Local in memory\n\n"+head,
		rounds, time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version(), items)
	for _, n := range []int{1, 10, 50, 200} {
		r, err := newRig(ctx, engine.Endpoint(), n)
		if err != nil {
			return fmt.Errorf("%d write shards: %w", n, err)
		}
		for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
			if err := r.measure(ctx, w, delay, rounds); err != nil {
				return fmt.Errorf("%d write shards: %w", n, err)
			}
		}
	}
	return nil
}
