package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// Stream opens that of a table.
func (t *Tables) Stream(ctx context.Context, table string) (*eventsource.Stream, error) {
	return eventsource.OpenStream(ctx, t.DB, dynamolocal.Streams(t.Endpoint, t.Access), table)
}

// Mapping is as deployed, but for what the options say: Name, Source, Handler and
// BatchingWindow at least.
func (t *Tables) Mapping(o eventsource.MappingOptions) (*eventsource.Mapping, error) {
	o.Checkpoints, o.CheckpointTable, o.FailureFile = t.DB, dynamolocal.CheckpointTable(t.Names), t.FailureFile(o.Name)
	o.BatchSize, o.Attempts = cmp.Or(o.BatchSize, 1000), cmp.Or(o.Attempts, 10)
	o.TumblingWindow = cmp.Or(o.TumblingWindow, 10*time.Second)
	o.Bisect, o.PartialFailures = true, true
	if o.Logger == nil {
		o.Logger = Silent
	}
	return eventsource.NewMapping(o)
}

// settling is more than the engine takes to show a write in its stream, patience how
// long the last writes may take to be delivered.
const (
	settling = 300 * time.Millisecond
	patience = 30 * time.Second
)

// During runs a mapping while something is done, and until all of that is delivered: to
// stop it sooner would cut a batch off, which then comes again.
func During(ctx context.Context, m *eventsource.Mapping, do func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	group.Go(func() error {
		if err := m.Run(running); err != nil {
			return fmt.Errorf("reading the stream: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		defer stop()
		if err := do(ctx); err != nil {
			return err
		}
		return caughtUp(ctx, m, time.Now().Add(settling))
	})
	err := group.Wait()
	if n := m.Stats().GivenUp; err == nil && n > 0 {
		err = fmt.Errorf("%d records were given up", n)
	}
	return err
}

// caughtUp waits until all is delivered that could be read at some time.
func caughtUp(ctx context.Context, m *eventsource.Mapping, at time.Time) error {
	ctx, cancel := context.WithDeadlineCause(ctx, at.Add(patience), errors.New("the mapping did not catch up"))
	defer cancel()
	for !m.Stats().CaughtUp.After(at) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		Sleep(ctx, settling/10)
	}
	return nil
}
