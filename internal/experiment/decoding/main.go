// Command decoding compares ways to count keys in what Lambda delivers from a
// DynamoDB stream: the stock one, other JSON libraries', and hotshard's. All run in
// one process, in turns, each on the same payloads of up to 6 MB:
//
//	go -C internal/experiment/decoding run . -rounds 15
//	go -C internal/experiment/decoding run . -processes 5
//
// The second runs the function hotkeys as a whole process behind a Runtime API,
// beside a stock one and one that does nothing (on Linux).
//
// It is a module of its own, so that the libraries it compares are none of the
// product's.
//
// The table has CPU time (getrusage, garbage collection included) for each record as
// the median of the rounds, the ratio to stock, and what one batch allocates. Only
// stock and hotshard read images; hotshard also works out write units, by exact item
// sizes, and writes to an index. The others only find the keys, and check the rest as
// far as their library does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	rounds := flag.Int("rounds", 15, "turns of each method on each payload")
	only := flag.String("case", "", "only payloads with this in their name")
	methods := flag.String("method", "", "only methods with this in their name, and stock")
	whole := flag.Int("processes", 0, "compare whole processes instead, so many of each function")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	var err error
	if *whole > 0 {
		err = processes(context.Background(), *whole)
	} else {
		err = run(*rounds, *only, *methods)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "decoding:", err)
		os.Exit(1)
	}
}

func run(rounds int, only, some string) error {
	for _, c := range cases() {
		if !strings.Contains(c.name, only) {
			continue
		}
		payload, keys := c.payload()
		fmt.Printf("\n%s: %d records, %d B, %d keys\n", c.name, c.records, len(payload), len(keys))
		if err := compare(rounds, payload, keys, c.records, some); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}
