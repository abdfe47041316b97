package counters

import (
	"context"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/memo"
)

// MaxCachedSummaries bounds the counters that a CachedSummaries remembers, with about
// 700 bytes each at the most; those that were asked for least go first.
const MaxCachedSummaries = 10_000

// CachedSummaries reads summaries of counters, and gives what it read to others who
// ask within some time:
//
//	summaries := counters.NewCachedSummaries(counters.NewSummaries(client, "hotshard-rollups", shards), time.Second)
//	list, err := summaries.Read(ctx, []string{"page/home"}, time.Now())
//
// However many ask, a counter is read once in that time, and those who ask while it is
// being read wait for that reading. AsOf stays the time of the data. Of a counter that is
// not there it is remembered, too, that it is 0.
type CachedSummaries struct {
	source  *Summaries
	age     time.Duration
	entries memo.Memo[Summary]

	mu      sync.Mutex
	flights map[string]*flight // by counter
}

// flight is a reading that is under way.
type flight struct {
	at   time.Time     // when it was asked for
	done chan struct{} // closed once all of it is in read, or failed
	read map[string]Summary
}

// NewCachedSummaries returns a CachedSummaries that gives away nothing older than
// age; with 0, or less, everyone reads for himself.
func NewCachedSummaries(source *Summaries, age time.Duration) *CachedSummaries {
	return &CachedSummaries{
		source: source, age: age, flights: map[string]*flight{},
		entries: memo.New[Summary](MaxCachedSummaries),
	}
}

// Read returns the summaries of these counters, in their order, as [Summaries.Read]
// does, but for their age: what was read up to the cache's age before now. What is not
// remembered is read in one go.
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

// claim takes what is remembered into found. What is left is either being read by
// others, or the caller's to read: own, nil for nothing. all is that nothing is left.
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

// fresh tells whether what was read at a time may still be given away. Requests that
// met may have begun in another order than they read.
func (c *CachedSummaries) fresh(at, now time.Time) bool { return now.Sub(at).Abs() <= c.age }

// fly reads what the caller has claimed, for all who wait.
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
			delete(f.read, name) // who waits for it reads for himself
			continue
		}
		f.read[name], found[name] = list[i], list[i]
		c.entries.Set(name, list[i])
	}
	return err
}

// join waits for what others read.
func (c *CachedSummaries) join(ctx context.Context, others map[string]*flight, found map[string]Summary) error {
	for name, f := range others {
		select {
		case <-f.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the summary of %q: %w", name, dynamo.Kind(ctx.Err()))
		}
		if s, ok := f.read[name]; ok { // not changed any more
			found[name] = s
		}
	}
	return nil
}
