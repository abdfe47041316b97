package eventsource

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Mapping is an event source mapping: it reads a stream and invokes a handler with batches of its records, as Lambda
// does with BisectBatchOnFunctionError and ReportBatchItemFailures. It delivers the records of a stream shard in order, at
// least once, and after its parent's records. It saves its progress after each batch. The next Run or Drain of a mapping
// with that name continues there, even after a crash. It logs a record that it gives up.
type Mapping struct {
	o           MappingOptions
	checkpoints checkpoints

	givenUp atomic.Int64
}

// NewMapping returns a mapping, which Run starts.
func NewMapping(options MappingOptions) *Mapping {
	options = options.withDefaults()
	return &Mapping{
		o:           options,
		checkpoints: checkpoints{client: options.Checkpoints, table: options.CheckpointTable, mapping: options.Name, arn: options.Source.ARN()},
	}
}

// Run reads the stream until ctx ends, and then returns nil. An invocation in flight then has 5 s to end; interrupted
// records are redelivered by the next Run. While the stream or the checkpoints are unreachable, it waits and logs. It
// returns an error if a checkpoint is unreadable.
func (m *Mapping) Run(ctx context.Context) error {
	err := m.consume(ctx, false)
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// Drain delivers all records of the stream, ends the open windows with their final invocations, and
// returns. Call it after Run has returned, when no writer is active. An error means that records may
// be left. Like Run it waits for an unreachable engine, until ctx ends.
func (m *Mapping) Drain(ctx context.Context) error {
	if err := m.consume(ctx, true); err != nil {
		return fmt.Errorf("draining mapping %s: %w", m.o.Name, err)
	}
	return nil
}

// GivenUp returns the number of records that were given up since NewMapping.
func (m *Mapping) GivenUp() int64 { return m.givenUp.Load() }

// maxDoubled bounds a wait that doubles, as a multiple of the first wait.
const maxDoubled = 50

// retry repeats a call to the stream or to the checkpoints until it succeeds or ctx ends. It has no
// time limit: a machine that swaps or sleeps may delay the engine for any time, and giving up would
// lose the data of an engine in memory.
func (m *Mapping) retry(ctx context.Context, call func() error) error {
	for try := 0; ; try++ {
		err := call()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			m.o.Logger.Warn("event source mapping: a call failed", "mapping", m.o.Name, "try", try+1, "error", err)
		}
		if !dynamo.Pause(ctx, m.backOff(try)) {
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// backOff returns the wait after failure number n, from 0: BackOff, doubled each time, up to maxDoubled times BackOff.
func (m *Mapping) backOff(n int) time.Duration {
	return min(m.o.BackOff<<min(n, 16), m.o.BackOff*maxDoubled) // a longer shift may overflow
}
