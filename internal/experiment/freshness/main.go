// Command freshness measures how soon an increment is in its counter's summary, and
// whether the aggregators of many stream shards get in each other's way, on
// Amazon's own engine with the event source mapping of the local runner:
//
//	go run ./internal/experiment/freshness -json docs/performance/folds-freshness.json
//	go run ./internal/experiment/freshness -wide -json docs/performance/folds-wide.json
//
// The first writes increments at a steady rate, and reads summaries all the time.
// An increment is visible when an eventually consistent read has its rev; the time
// runs from the answer to the write. There is a run for each batching window.
//
// With -wide it has one counter, then one entity, over 200 write shards on 20
// stream shards. It counts the updates that the aggregators make for each summary
// item of a batch, and those that fail by their condition, and ends with 1 when a
// counter has any after the first fifth of the time.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/hotshard/hotshard/internal/local"
)

func main() {
	wide := flag.Bool("wide", false, "one key over many write shards and stream shards")
	rate := flag.Int("rate", 150, "writes a second")
	seconds := flag.Int("seconds", 30, "of each run")
	raw := flag.String("json", "", "a file for the raw results")
	flag.Parse()
	if flag.NArg() > 0 || *rate < 1 || *seconds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := pace{*rate, time.Duration(*seconds) * time.Second}
	if err := run(ctx, p, *wide, *raw); err != nil {
		fmt.Fprintln(os.Stderr, "freshness:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p pace, wide bool, raw string) (err error) {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	fmt.Printf("go run ./internal/experiment/freshness -wide=%t -rate %d -seconds %.0f\n%s, %s, DynamoDB Local in memory\n\n",
		wide, p.rate, p.lasting.Seconds(), time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version())
	var results any
	if wide {
		results, err = compareWide(ctx, os.Stdout, engine.Endpoint(), p)
	} else {
		results, err = compareWindows(ctx, os.Stdout, engine.Endpoint(), p)
	}
	if err != nil || raw == "" {
		return err
	}
	text, err := json.Marshal(results)
	if err != nil {
		return err
	}
	return os.WriteFile(raw, append(text, '\n'), 0o644)
}
