package counters

import (
	"context"
	"math/big"
	"time"

	"github.com/hotshard/hotshard/internal/base/memo"
)

// MaxCachedSummaries bounds the counters that a CachedSummaries caches, with up to about
// 700 bytes each. It evicts the least used first.
const MaxCachedSummaries = 10_000

// CachedSummaries reads summaries of counters and caches them for a set time:
//
//	summaries := counters.NewCachedSummaries(counters.NewSummaries(client, "hotshard-items", "hotshard-rollups", shards), time.Second)
//	list, err := summaries.Read(ctx, []string{"page/home"}, time.Now())
//
// Concurrent callers that find a counter too old each read it. AsOf stays the time of the data. A
// missing counter is cached too, with value 0.
type CachedSummaries struct {
	source  *Summaries
	age     time.Duration
	entries memo.Memo[Summary]
}

// NewCachedSummaries returns a CachedSummaries that returns nothing older than age. An age of
// 0 or less disables the cache.
func NewCachedSummaries(source *Summaries, age time.Duration) *CachedSummaries {
	return &CachedSummaries{source: source, age: age, entries: memo.New[Summary](MaxCachedSummaries)}
}

// Read returns the summaries of these counters, in their order, as [Summaries.Read] does; they
// were read up to the cache's age before now. It reads the counters that are not cached
// together.
func (c *CachedSummaries) Read(ctx context.Context, names []string, now time.Time) ([]Summary, error) {
	if c.age <= 0 {
		return c.source.Read(ctx, names, now)
	}
	now = now.Round(0)
	list := make([]Summary, len(names))
	var missing []string
	var places []int // of the missing names in the list
	for i, name := range names {
		// Concurrent requests may have begun in another order than they read, so ReadAt may be later.
		if hit, ok := c.entries.Get(name); ok && now.Sub(hit.ReadAt).Abs() <= c.age {
			list[i] = hit.own()
		} else {
			missing, places = append(missing, name), append(places, i)
		}
	}
	read, err := c.source.Read(ctx, missing, now)
	if err != nil {
		return nil, err
	}
	for at, s := range read {
		c.entries.Set(missing[at], s)
		list[places[at]] = s.own()
	}
	return list, nil
}

// own returns the summary with a value of its own, which the caller may change.
func (s Summary) own() Summary {
	s.Value = new(big.Int).Set(s.Value)
	return s
}
