// Package detection measures, on DynamoDB Local, how long it takes from the write
// that takes a key over its budget to the metric that names the key. Keys are written at
// multiples of the threshold, all at a time. The detector runs behind an event source
// mapping with a tumbling window of ten seconds, as deployed.
package detection

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/heat/count"
	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/schema"
)

// multiples of the threshold at which keys are written, one each.
var multiples = []float64{0.95, 1.05, 2, 5, 10}

// batchings are the batching windows that are compared.
var batchings = []time.Duration{100 * time.Millisecond, time.Second}

// Program is the experiment.
var Program = rig.Program{Name: "detection", About: "how soon a hot key is named", HeapMB: 128, Flags: func(f *flag.FlagSet) func(context.Context, *rig.Run) error {
	seconds := f.Int("seconds", 120, "of each run; 20 or more")
	return func(ctx context.Context, r *rig.Run) error {
		if *seconds < 20 {
			return errors.New("-seconds: want 20 or more")
		}
		fmt.Fprintf(r, "A key is hot from %.0f write units a second, a window is %v.\n\n%s", hotRate, window, columns)
		for _, batching := range batchings {
			err := rig.With(ctx, r.Endpoint, limiter.Options{}, func(t *rig.Tables) error {
				return measure(ctx, r, t, batching, time.Duration(*seconds)*time.Second)
			})
			if err != nil {
				return fmt.Errorf("batching window of %v: %w", batching, err)
			}
		}
		return nil
	}
}}

const columns = `| batching window | key, of the threshold | windows | named | fastest | median | slowest |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
`

// The detector's settings, scaled down to what one machine can write.
const (
	partitionWCU = 20
	threshold    = 0.7
	hotRate      = threshold * partitionWCU
	window       = 10 * time.Second
)

// log has what went wrong, not what was found.
var log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

// detector makes one behind the stream of the items.
func detector(ctx context.Context, t *rig.Tables, w *watch, batching time.Duration) (*eventsource.Mapping, error) {
	settings, err := rig.Settings[hotkey.Settings](t, "HOTSHARD_SOURCE="+string(hotkey.Existing), "HOTSHARD_SOURCE_TABLE="+t.Names.Items,
		"HOTSHARD_CONTROL="+string(growth.Off), fmt.Sprint("HOTSHARD_WINDOW=", window), fmt.Sprint("HOTSHARD_PARTITION_WCU=", partitionWCU), fmt.Sprint("HOTSHARD_THRESHOLD=", threshold))
	if err != nil {
		return nil, err
	}
	handler, err := hotkey.New(settings, hotkey.Deps{
		Source: count.Source{Table: t.Names.Items, PartitionKey: schema.PK},
		Heat:   t.DB, Metrics: w, Log: log, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	source, err := t.Stream(ctx)
	if err != nil {
		return nil, err
	}
	return t.Mapping(eventsource.MappingOptions{Name: "hotkeys", Source: source, Handler: handler, BatchingWindow: batching, TumblingWindow: window, Logger: log})
}

// measure makes one run, and prints a row for each key.
func measure(ctx context.Context, out io.Writer, t *rig.Tables, batching, lasting time.Duration) error {
	w := newWatch()
	mapping, err := detector(ctx, t, w, batching)
	if err != nil {
		return err
	}
	err = rig.During(ctx, mapping, func(ctx context.Context) error {
		writers, ctx := errgroup.WithContext(ctx)
		for _, multiple := range multiples {
			writers.Go(func() error { return write(ctx, t, w, multiple, lasting) })
		}
		if err := writers.Wait(); err != nil {
			return err
		}
		time.Sleep(window + 2*batching) // for the last window's report
		return nil
	})
	if err != nil {
		return err
	}
	for _, multiple := range multiples {
		fmt.Fprintln(out, w.row(batching, multiple))
	}
	return nil
}

func keyOf(multiple float64) string { return fmt.Sprintf("at %.2f", multiple) }

// write writes to one key at its rate, each write at its time and after the one before.
func write(ctx context.Context, t *rig.Tables, w *watch, multiple float64, lasting time.Duration) (err error) {
	n := 0
	rig.Pace(ctx, lasting, rig.Steady(multiple*hotRate), func(time.Time) {
		if err != nil {
			return
		}
		n++
		_, err = t.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.Names.Items, Item: rig.Key(keyOf(multiple), fmt.Sprint(n))})
		w.wrote(keyOf(multiple), time.Now())
	})
	return err
}
