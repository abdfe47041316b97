// Package demo makes a counter hot on a running system, and measures how the system cools it:
//
//	story, err := demo.Run(ctx, demo.Options{URL: running.URL(), For: 90 * time.Second})
//	for _, line := range story.Lines() {
//		fmt.Println(line)
//	}
//	err = story.Err() // nil if the counter was hot and has cooled
//
// It writes through the API and reads its figures there.
package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/tool/load"
)

// Counter is the counter that the ramp increments.
const Counter = "page/launch"

// Options configures a demo.
type Options struct {
	URL string        // URL of the API
	For time.Duration // length of the ramp, MinFor or longer

	Began    func(at time.Time) // called before the ramp, with the time at which it will begin; may be nil
	Progress func(seconds int)  // called each second of the ramp; may be nil
}

// The system's partitions have a fiftieth of AWS's limit, so that one machine can make one hot.
const (
	Partitions   = 64
	PartitionWCU = 20
)

// Notice returns the console's line on the demo: what runs, and what to watch.
func (o *Options) Notice() string {
	length := o.For.Truncate(Window)
	stages := stagesOf(length, PartitionWCU)
	return fmt.Sprintf("demo: watch %s. For %.0f s its writes rise from %.0f to %.0f a second, of which a partition takes %d: the counter gets hot, is split into write shards, and cools. The other keys have light traffic.",
		Counter, length.Seconds(), stages[0].rate, stages[len(stages)-1].rate, PartitionWCU)
}

// Bounds of Options.For.
const (
	MinFor = 40 * time.Second
	MaxFor = 10 * time.Minute // the limiter keeps its counts by the second for 15
)

// Window is the length of the detector's windows. IdleWindow is how long a window stays open after its end if there are
// no writes: shorter than on Lambda, so that the last window of the ramp shows at once.
const (
	Window     = 10 * time.Second
	IdleWindow = time.Second
)

// Run sends the ramp, and returns the story after the ramp's windows are counted. The ramp begins within 12 s, at the start
// of a window.
func Run(ctx context.Context, o Options) (Story, error) {
	api := client{o.URL}
	m := measured{begin: time.Now().Add(2 * time.Second).Truncate(Window).Add(Window)}
	m.end = m.begin.Add(o.For.Truncate(Window))
	if o.Began != nil {
		o.Began(m.begin)
	}
	working, over := context.WithCancel(ctx)
	defer over()
	group, running := errgroup.WithContext(working)
	group.Go(func() error { return ended(running, background(running, o)) })
	group.Go(func() error { return ended(running, api.watchVerdict(running, &m)) })
	group.Go(func() error { return ended(running, progress(running, &m, o.Progress)) })
	group.Go(func() error {
		defer over() // the background traffic goes on until the last window is counted
		if err := ramp(running, o, &m); err != nil {
			return err
		}
		if err := api.measure(running, &m); err != nil {
			return fmt.Errorf("reading the demo's figures: %w", err)
		}
		return nil
	})
	if err := group.Wait(); err != nil {
		return Story{}, err
	}
	return m.story(), nil
}

// ramp waits for its start, and increments the counter until its end.
func ramp(ctx context.Context, o Options, m *measured) (err error) {
	if !waitUntil(ctx, m.begin) {
		return context.Cause(ctx)
	}
	source := rampSource(ctx, Counter, stagesOf(m.end.Sub(m.begin), PartitionWCU))
	m.load, err = load.Run(ctx, load.Options{Target: o.URL, Source: source, Concurrency: rampConcurrency, CountersOnly: true, NoProbe: true})
	return err
}

// rampConcurrency is enough for the highest rate while some calls wait for a retry.
const rampConcurrency = 64

// ended returns nil if err came from the end of the context, which follows the ramp, or else err.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// The background traffic is light enough for two cores. Its hottest key takes a sixth of a partition.
const (
	backgroundRate = 12 // requests a second, each an event and an increment
	backgroundKeys = 40
)

// background sends ordinary traffic until the context ends.
func background(ctx context.Context, o Options) error {
	most := int((o.For + 2*time.Minute).Seconds() * backgroundRate)
	source, err := load.Synthetic{Kind: load.Zipf, Seed: 1, Count: most, Keys: backgroundKeys}.Source()
	if err != nil {
		return err
	}
	_, err = load.Run(ctx, load.Options{Target: o.URL, Source: source, Rate: backgroundRate, NoProbe: true})
	return err
}

// progress reports each second of the ramp.
func progress(ctx context.Context, m *measured, report func(int)) error {
	for at := m.begin.Add(time.Second); report != nil && !at.After(m.end) && waitUntil(ctx, at); at = at.Add(time.Second) {
		report(1)
	}
	return nil
}
