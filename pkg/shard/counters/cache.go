package counters

import (
	"context"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/memo"
)

// MaxCachedSummaries bounds the counters that a CachedSummaries caches, with up to about
// 700 bytes each. It evicts the least used first.
const MaxCachedSummaries = 10_000

// CachedSummaries reads summaries of counters and caches them for a set time:
//
//	summaries := counters.NewCachedSummaries(counters.NewSummaries(client, "hotshard-rollups", shards), time.Second)
//	list, err := summaries.Read(ctx, []string{"page/home"}, time.Now())
//
// A counter is read at most once in that time; concurrent callers wait for the same read. AsOf
// stays the time of the data. A missing counter is cached too, with value 0.
type CachedSummaries struct {
	source  *Summaries
	age     time.Duration
	entries memo.Memo[Summary]

	mu      sync.Mutex
	flights map[string]*flight // by counter
}

// flight is a read in flight.
type flight struct {
	at   time.Time     // when it was requested
	done chan struct{} // closed once read is complete, or the read failed
	read map[string]Summary
}

// NewCachedSummaries returns a CachedSummaries that returns nothing older than age. An age of
// 0 or less disables the cache.
func NewCachedSummaries(source *Summaries, age time.Duration) *CachedSummaries {
	return &CachedSummaries{
		source: source, age: age, flights: map[string]*flight{},
		entries: memo.New[Summary](MaxCachedSummaries),
	}
}

// Read returns the summaries of these counters, in their order, as [Summaries.Read] does; they
// were read up to the cache's age before now. It reads the counters that are not cached
// together.
func (c *CachedSummaries) Read(ctx context.Context, names []string, now time.Time) ([]Summary, error) {
	if c.age <= 0 {
		return c.source.Read(ctx, names, now)
	}
	now = now.Round(0)
	found := make(map[string]Summary, len(names))
	for {
		own, others, all := c.claim(names, found, now)
		if all {
			break
		}
		if err := c.fly(ctx, own, found); err != nil {
			return nil, err
		}
		if err := c.join(ctx, others, found); err != nil {
			return nil, err
		}
	}
	list := make([]Summary, len(names))
	for i, name := range names {
		list[i] = found[name]
		list[i].Value = new(big.Int).Set(found[name].Value) // the caller's own
	}
	return list, nil
}

// claim copies cached summaries into found. The others are being read by other callers, or own
// is the read that the caller must make; own may be nil. all reports that nothing is left.
func (c *CachedSummaries) claim(names []string, found map[string]Summary, now time.Time) (own *flight, others map[string]*flight, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, others = true, map[string]*flight{}
	for _, name := range names {
		if _, ok := found[name]; ok {
			continue
		}
		if hit, ok := c.entries.Get(name); ok && c.fresh(hit.ReadAt, now) {
			found[name] = hit
			continue
		}
		all = false
		if f := c.flights[name]; f != nil && (f == own || c.fresh(f.at, now)) {
			if f != own {
				others[name] = f
			}
			continue
		}
		if own == nil {
			own = &flight{at: now, done: make(chan struct{}), read: map[string]Summary{}}
		}
		c.flights[name], own.read[name] = own, Summary{}
	}
	return own, others, all
}

// fresh reports whether a read from time at is young enough at now. Concurrent requests may
// have begun in another order than they read, so at may be later.
func (c *CachedSummaries) fresh(at, now time.Time) bool { return now.Sub(at).Abs() <= c.age }

// fly reads what the caller has claimed, for all callers that wait.
func (c *CachedSummaries) fly(ctx context.Context, f *flight, found map[string]Summary) error {
	if f == nil {
		return nil
	}
	defer close(f.done)
	var names []string
	for name := range f.read {
		names = append(names, name)
	}
	list, err := c.source.Read(ctx, names, f.at)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, name := range names {
		if c.flights[name] == f {
			delete(c.flights, name)
		}
		if err != nil {
			delete(f.read, name) // whoever waits for it reads it again
			continue
		}
		f.read[name], found[name] = list[i], list[i]
		c.entries.Set(name, list[i])
	}
	return err
}

// join waits for other callers' reads.
func (c *CachedSummaries) join(ctx context.Context, others map[string]*flight, found map[string]Summary) error {
	for name, f := range others {
		select {
		case <-f.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the summary of %q: %w", name, dynamo.Kind(ctx.Err()))
		}
		if s, ok := f.read[name]; ok { // it does not change any more
			found[name] = s
		}
	}
	return nil
}
