package eventsource

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Mapping is an event source mapping: it reads a stream and invokes a handler
// with batches of its records, as Lambda does. It delivers the records of a
// stream shard in order and at least once, and a stream shard's after those of
// its parent. After each batch it notes how far it has come, and the next Run
// or Drain of a mapping of that name goes on there, also after a crash.
type Mapping struct {
	o           MappingOptions
	checkpoints checkpoints

	delivered, givenUp atomic.Int64

	mu        sync.Mutex
	consumers map[string]*consumer // that run, by stream shard
}

// NewMapping checks the options; Run then starts it. The error names all that
// is wrong with them.
func NewMapping(o MappingOptions) (*Mapping, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Mapping{
		o:           o,
		checkpoints: checkpoints{client: o.Checkpoints, table: o.CheckpointTable, mapping: o.Name, arn: o.Source.ARN()},
		consumers:   map[string]*consumer{},
	}, nil
}

// Run reads the stream until ctx ends, and then returns nil. What is under way is
// given 5 s then; what was cut off is delivered again by the next Run. While the
// stream or the checkpoints are out of reach, it waits for them, and logs it. Errors
// are that two mappings of this process read the stream already, that a checkpoint
// can't be read, and that the failure file can't be written.
func (m *Mapping) Run(ctx context.Context) error {
	err := m.consume(ctx, false)
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// Drain delivers all that is in the stream, ends the open windows with their
// final invocations, and returns. It is called after Run has returned, when
// nothing writes any more. An error means that something may be left. Like Run it
// waits for an engine that is out of reach, until ctx ends.
func (m *Mapping) Drain(ctx context.Context) error {
	if err := m.consume(ctx, true); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	return nil
}

// Name is the one that the options give it.
func (m *Mapping) Name() string { return m.o.Name }

// Stats say how a mapping gets on.
type Stats struct {
	Delivered int64 // records that the handler has done
	GivenUp   int64 // records that went to the failure file
	// CaughtUp is the time up to which all changes that could be read have been
	// delivered or given up; zero when the mapping does not run, or has not yet
	// come so far. An engine shows a change some milliseconds after its write.
	CaughtUp time.Time
	// Reached is when the newest change was made that has been delivered or given up, to
	// the second, or when nothing was left: under a steady load it advances, and
	// CaughtUp does not. Of the stream shard that is furthest behind; zero likewise.
	Reached time.Time
}

// Stats returns the figures since NewMapping. It may be called at any time.
func (m *Mapping) Stats() Stats {
	return Stats{Delivered: m.delivered.Load(), GivenUp: m.givenUp.Load(), CaughtUp: m.oldest((*consumer).caughtUpAt), Reached: m.oldest((*consumer).reachedAt)}
}

// oldest is the earliest of the running consumers' times.
func (m *Mapping) oldest(of func(*consumer) time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	var oldest time.Time
	first := true
	for _, c := range m.consumers {
		if at := of(c); first || at.Before(oldest) {
			oldest, first = at, false
		}
	}
	return oldest
}

// maxReaders is how many mappings may read one stream: DynamoDB allows two
// readers per stream shard before it throttles them.
const maxReaders = 2

// readers are the names of the running mappings, by stream.
var readers = struct {
	sync.Mutex
	names map[string][]string
}{names: map[string][]string{}}

// claim takes one of a stream's places for readers.
func claim(arn, name string) (release func(), err error) {
	readers.Lock()
	defer readers.Unlock()
	names := readers.names[arn]
	if slices.Contains(names, name) {
		return nil, fmt.Errorf("a mapping named %q already reads stream %s", name, arn)
	}
	if len(names) >= maxReaders {
		return nil, fmt.Errorf("mappings %q already read stream %s, which allows %d", names, arn, maxReaders)
	}
	readers.names[arn] = append(slices.Clone(names), name)
	return func() {
		readers.Lock()
		defer readers.Unlock()
		left := slices.DeleteFunc(readers.names[arn], func(n string) bool { return n == name })
		if readers.names[arn] = left; len(left) == 0 {
			delete(readers.names, arn)
		}
	}, nil
}

// maxDoubled: a back-off grows to this many times its start.
const maxDoubled = 50

// retry makes a call to the stream or to the checkpoints until it works or ctx ends.
// It never gives up by itself: a machine that swaps or sleeps holds up the engine for
// any time, and to end then would lose all that an engine in memory has.
func (m *Mapping) retry(ctx context.Context, call func() error) error {
	for try := 0; ; try++ {
		err := call()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			m.o.Logger.Warn("event source mapping: a call failed", "mapping", m.o.Name, "try", try+1, "error", err)
		}
		if ended := sleep(ctx, m.backOff(try)); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
}

// backOff is the wait after failure number n, counted from 0.
func (m *Mapping) backOff(n int) time.Duration {
	return min(m.o.BackOff<<min(n, 16), m.o.BackOff*maxDoubled)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
