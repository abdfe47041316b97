// Command ranks compares ways to tell a player's rank on boards too large to count,
// by simulation: how far off they are, what they read and write, and how fresh they
// are.
//
//	go run ./internal/experiment/ranks > docs/performance/ranks.txt
//
// A board is a list of scores, drawn with a seed; what is asked for is the rank of
// players drawn from it. Sizes are those of the stored forms, units those that AWS
// charges for them.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	most := flag.Int("players", 10_000_000, "players of the largest board; at least 10000")
	seed := flag.Uint64("seed", 1, "of the scores")
	flag.Parse()
	if flag.NArg() > 0 || *most < 10_000 {
		flag.Usage()
		os.Exit(2)
	}
	if err := compareAll(os.Stdout, *most, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "ranks:", err)
		os.Exit(1)
	}
}

// compareAll prints a table for each distribution.
func compareAll(w io.Writer, most int, seed uint64) error {
	began := time.Now()
	fmt.Fprintf(w, "go run ./internal/experiment/ranks -players %d -seed %d\n%s\n\n%s", most, seed, began.UTC().Format("2006-01-02T15:04Z"), head)
	for _, d := range distributions {
		fmt.Fprintf(w, "\n%s\n\n%s", d.name, columns)
		for n := 10_000; n <= most; n *= 10 {
			if err := (&simulated{d: d, n: n, seed: seed}).compare(w); err != nil {
				return fmt.Errorf("%s, %d players: %w", d.name, n, err)
			}
		}
	}
	fmt.Fprintf(w, "\n%.0f s\n", time.Since(began).Seconds())
	return nil
}

const head = `Error: the distance from the true rank, of 2,000 players of each board. Percentages are of
all players. "stated" is the error that an answer can promise, at the 99th percentile.
Read units are eventually consistent ones for one rank, mean and 99th percentile; bytes
are what they read. Write units are those of one fold of one stream shard's part, which
is the same for a batch of one score and of thousands. Fresh: how old the answer is at
the least; a fold is a batching window of the aggregator, the index lags by less than a
second, mostly. The histogram is in 4 parts, one for each of 4 stream shards; the index
is on 64 write shards, and has entries of 160 bytes.
`

const columns = `| players | method | error p50 | p99 | max | p99 of players | stated p99 | read units | p99 | bytes | write units | fresh |
| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |
`
