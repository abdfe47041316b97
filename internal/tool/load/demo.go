package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
)

// DemoCounter is the counter that the ramp increments.
const DemoCounter = "page/launch"

// Demo configures a demo: a ramp of writes on one counter.
type Demo struct {
	URL string        // URL of the API
	For time.Duration // length of the ramp, [MinDemo] to [MaxDemo]

	Progress func(seconds int) // called each second of the ramp; may be nil
}

// The demo's partitions have a fiftieth of AWS's limit, so that a load from one machine can exceed it.
const (
	DemoPartitions   = 64
	DemoPartitionWCU = 20
)

// Notice returns the console's line on the demo: what runs, and what to watch.
func (o *Demo) Notice() string {
	length := o.For.Truncate(DemoWindow)
	stages := rampStages(length, DemoPartitionWCU)
	return fmt.Sprintf("demo: watch %s. For %.0f s its writes rise from %.0f to %.0f a second, of which a partition takes %d: the counter gets hot, is split into write shards, and cools. The other keys have light traffic.",
		DemoCounter, length.Seconds(), stages[0].rate, stages[len(stages)-1].rate, DemoPartitionWCU)
}

// Bounds of Demo.For.
const (
	MinDemo = 40 * time.Second
	MaxDemo = 10 * time.Minute // the limiter keeps its counts by the second for 15 minutes
)

// DemoWindow is the length of the detector's windows. DemoIdleWindow is how long a window stays open after its end if there
// are no writes: shorter than on Lambda, so that the last window of the ramp shows at once.
const (
	DemoWindow     = 10 * time.Second
	DemoIdleWindow = time.Second
)

// RunDemo increments the counter along the ramp, and returns the measurements after the detector has counted the ramp's
// windows. The ramp begins within 12 s, at the start of a window.
func RunDemo(ctx context.Context, demo Demo) (DemoStory, error) {
	api := demoAPI{demo.URL}
	figures := measured{begin: time.Now().Add(2 * time.Second).Truncate(DemoWindow).Add(DemoWindow)}
	figures.end = figures.begin.Add(demo.For.Truncate(DemoWindow))
	working, stop := context.WithCancel(ctx)
	defer stop()
	group, running := errgroup.WithContext(working)
	group.Go(func() error { return nilIfEnded(running, sendBackground(running, demo)) })
	group.Go(func() error { return nilIfEnded(running, api.watchVerdict(running, &figures)) })
	group.Go(func() error { return nilIfEnded(running, demoProgress(running, &figures, demo.Progress)) })
	group.Go(func() error {
		defer stop() // the background traffic goes on until the last window is counted
		if err := sendRamp(running, demo, &figures); err != nil {
			return err
		}
		if err := api.readMeasured(running, &figures); err != nil {
			return fmt.Errorf("reading the demo's figures: %w", err)
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return DemoStory{}, err
	}
	return figures.story(), nil
}

// sendRamp increments the counter from figures.begin to figures.end.
func sendRamp(ctx context.Context, demo Demo, figures *measured) (err error) {
	if !waitUntil(ctx, figures.begin) {
		return context.Cause(ctx)
	}
	source := rampSource(ctx, DemoCounter, rampStages(figures.end.Sub(figures.begin), DemoPartitionWCU))
	figures.load, err = Run(ctx, Options{Target: demo.URL, Source: source, Concurrency: rampConcurrency, CountersOnly: true})
	return err
}

// rampConcurrency suffices for the highest rate while some calls wait for a retry.
const rampConcurrency = 64

// nilIfEnded returns nil if err only says that ctx was canceled, as after the measurement, and err otherwise.
func nilIfEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// The background traffic is light enough for two cores. Its hottest key takes a sixth of a partition.
const (
	backgroundRate = 12 // requests a second, each an event and an increment
	backgroundKeys = 40
)

// sendBackground sends ordinary traffic until the context ends.
func sendBackground(ctx context.Context, demo Demo) error {
	maxRequests := int((demo.For + 2*time.Minute).Seconds() * backgroundRate) // for longer than the demo takes
	source := Synthetic{Workload: Zipf, Seed: 1, Count: maxRequests, Keys: backgroundKeys}.Source()
	_, err := Run(ctx, Options{Target: demo.URL, Source: source, Rate: backgroundRate})
	return err
}

// demoProgress calls report after each second of the ramp. report may be nil.
func demoProgress(ctx context.Context, figures *measured, report func(int)) error {
	if report == nil {
		return nil
	}
	for at := figures.begin.Add(time.Second); !at.After(figures.end) && waitUntil(ctx, at); at = at.Add(time.Second) {
		report(1)
	}
	return nil
}
