package load

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	maxDifferences = 20 // reported one by one
	settlePoll     = 100 * time.Millisecond
	maxSettles     = 20 // times Settle, for summaries that get closer slowly
)

// findings collects differences. It is safe for concurrent use.
type findings struct {
	mu    sync.Mutex
	count int
	first []string
}

func (f *findings) differ(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if len(f.first) < maxDifferences {
		f.first = append(f.first, fmt.Sprintf(format, args...))
	}
}

// verifier compares the API's responses with the ledger.
type verifier struct {
	*driver
	findings
	earlier map[string]map[identity]bool // events that existed before the load, by entity
	result  Verify
}

// prepare reads the data before the load, so that a target with data can be verified. Requests without a time get the
// time at which they are sent, so no earlier event can be one of theirs.
func (v *verifier) prepare(ctx context.Context) error {
	names := map[string]bool{}
	spans := map[string]span{}
	for r, err := range v.Source.Requests() {
		if err != nil {
			return err
		}
		names[r.Counter()] = true
		if v.Source.Timed {
			spans[r.Entity()] = spans[r.Entity()].extendedTo(r.Time)
		}
	}
	values, err := v.readCounters(ctx, slices.Sorted(maps.Keys(names)), strong)
	if err != nil {
		return err
	}
	for name, value := range values {
		v.ledger.setBefore(name, value)
	}
	v.earlier = map[string]map[identity]bool{}
	return v.eachEntity(ctx, spans, func(entity string, events []storedEvent) {
		there := map[identity]bool{}
		for _, e := range events {
			there[e.identity()] = true
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.earlier[entity] = there
	})
}

// eachEntity reads the events of each entity's span and passes them to do, concurrently.
func (v *verifier) eachEntity(ctx context.Context, spans map[string]span, do func(string, []storedEvent)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(v.Concurrency)
	for entity, s := range spans {
		group.Go(func() error {
			events, err := v.readEvents(ctx, entity, s)
			if err == nil {
				do(entity, events)
			}
			return err
		})
	}
	return group.Wait()
}

// compare waits until the counters are right or no longer change, and compares everything.
func (v *verifier) compare(ctx context.Context) (*Verify, error) {
	begin := time.Now()
	names := slices.Sorted(maps.Keys(v.ledger.counters))
	if err := v.awaitCounters(ctx, names); err != nil {
		return nil, err
	}
	readings, err := v.readBoth(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, r := range readings {
		if r.distance() > 0 {
			v.differ("%s", r)
		}
	}
	spans := v.ledger.spans()
	err = v.eachEntity(ctx, spans, func(entity string, events []storedEvent) {
		compareEvents(entity, events, v.ledger.events[entity], v.earlier[entity], v.differ)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.result.Events += len(events)
	})
	v.result.Counters, v.result.Entities = len(names), len(spans)
	v.result.Seconds = time.Since(begin).Seconds()
	v.result.Differences, v.result.First = v.count, slices.Sorted(slices.Values(v.first))
	return &v.result, err
}

// awaitCounters polls until all counters are right. It stops when no wrong counter got closer for Settle, or after
// maxSettles times Settle.
func (v *verifier) awaitCounters(ctx context.Context, names []string) error {
	begin := time.Now()
	for closest, since := uint64(math.MaxUint64), begin; ; {
		readings, err := v.readBoth(ctx, names)
		if err != nil {
			return err
		}
		distance := uint64(0)
		names = nil
		for _, r := range readings {
			if r.distance() > 0 {
				distance += r.distance()
				names = append(names, r.counter)
			}
		}
		if distance < closest {
			closest, since = distance, time.Now()
		}
		if distance == 0 || time.Since(since) >= v.Settle || time.Since(begin) >= maxSettles*v.Settle {
			return nil
		}
		if err := sleep(ctx, settlePoll); err != nil {
			return err
		}
	}
}

// reading is a counter's two values and their bounds.
type reading struct {
	counter          string
	eventual, strong int64
	low, high        int64 // from the ledger; they differ only for unknown outcomes
}

// distance returns how far the two values are from each other and from the bounds; 0 for no difference.
func (r reading) distance() uint64 {
	between := func(a, b int64) uint64 { return uint64(max(a, b) - min(a, b)) }
	nearest := min(max(r.strong, r.low), r.high) // expected value
	return between(r.eventual, r.strong) + between(r.strong, nearest)
}

func (r reading) String() string {
	return fmt.Sprintf("counter %q: summary %d, write shards %d, want %s", r.counter, r.eventual, r.strong, boundsText(r.low, r.high))
}

// readBoth reads counters with both consistencies.
func (v *verifier) readBoth(ctx context.Context, names []string) ([]reading, error) {
	summaries, err := v.readCounters(ctx, names, eventual)
	if err != nil {
		return nil, err
	}
	sums, err := v.readCounters(ctx, names, strong)
	if err != nil {
		return nil, err
	}
	readings := make([]reading, len(names))
	for i, name := range names {
		t := v.ledger.counters[name]
		readings[i] = reading{name, summaries[name], sums[name], t.low(), t.high()}
	}
	return readings, nil
}
