// Command boardfolds measures what the aggregator's folds of one hot leaderboard
// cost: the write units of its top and its histogram, the updates of the top that
// are refused because several stream shards fold into it, and what is read.
//
//	go run ./internal/experiment/boardfolds > docs/performance/boards-folds.txt
//
// Entries are written to Amazon's own engine, and their records handed to one
// container for each stream shard: to all at the same time, which is the worst that
// can be, or spread over a batching window of a second.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/hotshard/hotshard/internal/local"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measureAll(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "boardfolds:", err)
		os.Exit(1)
	}
}

const head = `%d players; each record is a player's new score, drawn anew below 1,000,000; %d records a
batch; figures are per batch. A tenth of the records are of the first in rank ("busy
top"), or no more than chance has it. "refused" are updates of the top that another
stream shard's fold was faster than; they cost what the update costs. Read units:
of the top itself, of entries, of the index. Milliseconds are those of the engine on
this machine, which all containers share.

| size | top | stream shards | batches | updates of the top | refused | write units: top | of that refused | histogram | read units: top | entries | index | ms p50 | p99 |
| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// measureAll prints a line for each setting.
func measureAll(ctx context.Context, w io.Writer) error {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { _ = engine.Stop() }()
	fmt.Fprintf(w, "go run ./internal/experiment/boardfolds\n%s\n\n"+head, time.Now().UTC().Format("2006-01-02T15:04Z"), players, batchSize)
	for _, size := range []int{100, 1000} {
		for _, busy := range []bool{false, true} {
			for _, streams := range []int{1, 4, 20} {
				for _, spread := range []time.Duration{0, time.Second} {
					if streams == 1 && spread > 0 {
						continue
					}
					s := setting{size: size, busy: busy, streams: streams, spread: spread}
					if err := s.measure(ctx, w, engine.Endpoint()); err != nil {
						return fmt.Errorf("size %d, %d stream shards: %w", size, streams, err)
					}
				}
			}
		}
	}
	return nil
}
