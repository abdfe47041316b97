// Command standings measures what callers of a leaderboard wait and pay for, by the
// number of its players: the first 100, and the rank of a player anywhere, from
// hotshard, from a naive scatter and gather over the same index, and from a Redis
// sorted set.
//
//	cd internal/experiment/standings && go run . > ../../../docs/performance/standings.txt
//
// It is a module of its own, so that the client of Redis is no dependency of
// anything else. It starts Amazon's own engine and redis-server (Debian's package of
// that name), which must be there, and stops both.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/hotshard/hotshard/internal/local"
)

func main() {
	most := flag.Int("players", 1_000_000, "of the largest board; 1000 or more")
	flag.Parse()
	if flag.NArg() > 0 || *most < 1000 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *most); err != nil {
		fmt.Fprintln(os.Stderr, "standings:", err)
		os.Exit(1)
	}
}

const head = `%d write shards. Scores are whole numbers below 1,000,000. "first" is the first 100,
"rank" that of players drawn by chance, with the error that the answer stated and the true
one beside it. hotshard is the query function's handler, called in this process; scatter is
the bare SDK: a query of each write shard, in parallel, of 100 entries each, or a count of
all entries before the player; redis is ZREVRANGE and ZREVRANK over loopback. Read units are
those that AWS would charge, per call. Fresh is the time from a score's answer until another
call shows it among the first: hotshard's with a batching window of 0.1 s; scatter's is
that of the engine's index, which never lags, while AWS's does, by less than a second mostly.

| players | way | call | calls | p50 | p99 | read units | stated error p50 | max | true error max | fresh p50 | max |
| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

func run(ctx context.Context, w io.Writer, most int) error {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr, HeapMB: 2048})
	if err != nil {
		return err
	}
	defer func() { _ = engine.Stop() }()
	store, err := startRedis(ctx)
	if err != nil {
		return err
	}
	defer store.stop()
	fmt.Fprintf(w, "go run . -players %d\n%s\n\n"+head, most, time.Now().UTC().Format("2006-01-02T15:04Z"), shards)
	for players := 1000; players <= most; players = next(players) {
		if err := measure(ctx, w, engine.Endpoint(), store, players); err != nil {
			return fmt.Errorf("%d players: %w", players, err)
		}
	}
	return nil
}

// next skips 10,000: the shape shows without.
func next(players int) int {
	if players == 1000 {
		return 100_000
	}
	return players * 10
}
