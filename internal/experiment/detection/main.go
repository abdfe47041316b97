// Command detection measures, on DynamoDB Local, how long it takes from the write
// that takes a key over its budget to the metric that names the key:
//
//	go run ./internal/experiment/detection
//
// Keys are written at multiples of the threshold, all at a time. The detector runs
// behind an event source mapping with a tumbling window of ten seconds, as deployed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/hotshard/hotshard/internal/local"
)

// multiples of the threshold at which keys are written, one each.
var multiples = []float64{0.95, 1.05, 2, 5, 10}

// batchings are the batching windows that are compared.
var batchings = []time.Duration{100 * time.Millisecond, time.Second}

func main() {
	seconds := flag.Int("seconds", 120, "of each run")
	flag.Parse()
	if flag.NArg() > 0 || *seconds < 20 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, time.Duration(*seconds)*time.Second); err != nil {
		fmt.Fprintln(os.Stderr, "detection:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, lasting time.Duration) (err error) {
	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Stop()) }()
	fmt.Printf("go run ./internal/experiment/detection -seconds %.0f\n%s, %s, DynamoDB Local in memory; a key is hot from %.0f write units a second, a window is %v\n\n",
		lasting.Seconds(), time.Now().UTC().Format("2006-01-02T15:04Z"), runtime.Version(), hotRate, window)
	fmt.Println("| batching window | key, of the threshold | windows | named | fastest | median | slowest |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, batching := range batchings {
		if err := measure(ctx, engine.Endpoint(), batching, lasting); err != nil {
			return fmt.Errorf("batching window of %v: %w", batching, err)
		}
	}
	return nil
}
