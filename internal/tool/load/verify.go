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

// Bounds of verification.
const (
	maxDifferences = 20                     // described in the result
	settlePoll     = 100 * time.Millisecond // between two reads of the counters
	maxSettles     = 20                     // the wait for summaries that get closer slowly, as a multiple of Options.Settle
)

// findings counts differences, and describes the first ones. It is safe for concurrent use.
type findings struct {
	mu    sync.Mutex
	count int
	first []string // at most maxDifferences
}

// addDifference adds a difference that this text describes.
func (f *findings) addDifference(format string, args ...any) {
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

// prepare reads what is stored under the load's names before the load, so that a target with data can be verified. It reads
// events only of a source whose requests have times. Other requests get their times when they are sent, so that no stored
// event is one of theirs.
func (v *verifier) prepare(ctx context.Context) error {
	names := map[string]bool{}
	spans := map[string]span{}
	for request, err := range v.Source.Requests() {
		if err != nil {
			return err
		}
		names[request.Counter()] = true
		if entity := request.Entity(); v.Source.Timed {
			spans[entity] = spans[entity].extendedTo(request.Time)
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
	return v.readEachEntity(ctx, spans, func(entity string, events []storedEvent) {
		stored := map[identity]bool{}
		for _, e := range events {
			stored[e.identity()] = true
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		v.earlier[entity] = stored
	})
}

// readEachEntity reads the events of each entity's span and passes them to use, which several goroutines call.
func (v *verifier) readEachEntity(ctx context.Context, spans map[string]span, use func(entity string, events []storedEvent)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(v.Concurrency)
	for entity, s := range spans {
		group.Go(func() error {
			events, err := v.readEvents(ctx, entity, s)
			if err == nil {
				use(entity, events)
			}
			return err
		})
	}
	return group.Wait()
}

// compare waits until the counters are right or get no closer, and then compares all counters and events.
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
			v.addDifference("%s", r)
		}
	}
	spans := v.ledger.spans()
	err = v.readEachEntity(ctx, spans, func(entity string, events []storedEvent) {
		compareEvents(entity, events, v.ledger.events[entity], v.earlier[entity], v.addDifference)
		v.mu.Lock()
		defer v.mu.Unlock()
		v.result.Events += len(events)
	})
	v.result.Counters, v.result.Entities = len(names), len(spans)
	v.result.Seconds = time.Since(begin).Seconds()
	v.result.Differences, v.result.First = v.count, slices.Sorted(slices.Values(v.first))
	return &v.result, err
}

// awaitCounters polls the wrong counters until all are right. It returns nil, too, if the sum of their distances did not fall
// for Settle, or after maxSettles times Settle.
func (v *verifier) awaitCounters(ctx context.Context, names []string) error {
	begin := time.Now()
	for closest, lastProgress := uint64(math.MaxUint64), begin; ; {
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
			closest, lastProgress = distance, time.Now()
		}
		if distance == 0 || time.Since(lastProgress) >= v.Settle || time.Since(begin) >= maxSettles*v.Settle {
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
	low, high        int64 // bounds of the expected value, from the ledger
}

// distance returns the difference of the two values, plus that of strong and its bounds; 0 if the counter is right.
func (r reading) distance() uint64 {
	between := func(a, b int64) uint64 { return uint64(max(a, b) - min(a, b)) }
	expected := min(max(r.strong, r.low), r.high)
	return between(r.eventual, r.strong) + between(r.strong, expected)
}

func (r reading) String() string {
	return fmt.Sprintf("counter %q: summary %d, write shards %d, want %s", r.counter, r.eventual, r.strong, boundsText(r.low, r.high))
}

// readBoth reads each counter's summary and the sum of its write shards.
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
		low, high := v.ledger.counters[name].bounds()
		readings[i] = reading{name, summaries[name], sums[name], low, high}
	}
	return readings, nil
}
