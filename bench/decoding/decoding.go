// Package decoding compares ways to count keys in what Lambda delivers from a
// DynamoDB stream: the stock one, other JSON libraries', and hotshard's. All run in
// one process, in turns, each on the same payloads of up to 6 MB.
//
// The table has CPU time (getrusage, garbage collection included) for each record as
// the median of the rounds, the ratio to stock, and what one batch allocates. Only
// stock and hotshard read images; hotshard also works out write units, by exact item
// sizes, and writes to an index. The others only find the keys, and check the rest as
// far as their library does.
package decoding

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/hotshard/hotshard/bench/rig"
)

// Program is the experiment.
var Program = rig.Program{Name: "decoding", About: "ways to decode a batch, beside other libraries", Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	rounds := f.Int("rounds", 15, "turns of each method on each payload")
	return func(_ context.Context, r *rig.Run) error {
		return batches(r, *rounds)
	}
}}

func batches(w io.Writer, rounds int) error {
	for _, c := range cases() {
		payload, keys := c.payload()
		fmt.Fprintf(w, "\n%s: %d records, %d B, %d keys\n", c.name, c.records, len(payload), len(keys))
		if err := compare(w, rounds, payload, keys, c.records); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
