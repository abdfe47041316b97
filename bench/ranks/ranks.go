// Package ranks compares ways to tell a player's rank on boards too large to count,
// by simulation: how far off they are, what they read and write, and how fresh they
// are. A board is a list of scores, drawn with a seed; what is asked for is the rank of
// players drawn from it. Sizes are those of the stored forms, units those that AWS
// charges for them.
package ranks

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/hotshard/hotshard/bench/rig"
)

// Program is the experiment.
var Program = rig.Program{Name: "ranks", About: "ways to tell a rank, simulated", Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	most := f.Int("players", 10_000_000, "players of the largest board; at least 10000")
	seed := f.Uint64("seed", 1, "of the scores")
	return func(_ context.Context, r *rig.Run) error { return compareAll(r, *most, *seed) }
}}

// compareAll prints a table for each distribution.
func compareAll(w io.Writer, most int, seed uint64) error {
	began := time.Now()
	fmt.Fprint(w, head)
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
