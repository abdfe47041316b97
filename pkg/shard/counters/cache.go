package counters

import (
	"context"
	"math/big"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// MaxCachedSummaries bounds the counters that a CachedSummaries caches, of up to about 700 bytes
// each. It evicts the least used first.
const MaxCachedSummaries = 10_000

// CachedSummaries reads summaries of counters and caches them for a set time:
//
//	summaries := counters.NewCachedSummaries(counters.NewSummaries(client, "hotshard-items", "hotshard-rollups", shards), time.Second)
//	list, err := summaries.Read(ctx, []string{"page/home"}, time.Now())
//
// Concurrent callers that find a counter too old each read it. A cached summary keeps its AsOf. A
// counter that was never written is cached too, with value 0.
type CachedSummaries struct {
	source  *Summaries
	age     time.Duration
	entries dynamo.Cache[Summary]
}

// NewCachedSummaries returns a CachedSummaries that returns nothing older than age. An age of
// 0 or less disables the cache.
func NewCachedSummaries(source *Summaries, age time.Duration) *CachedSummaries {
	return &CachedSummaries{source: source, age: age, entries: dynamo.NewCache[Summary](MaxCachedSummaries)}
}

// Read returns the summaries of these counters, in their order. They are at most the cache's age
// old. It reads the counters that are not cached with one [Summaries.Read].
func (c *CachedSummaries) Read(ctx context.Context, names []string, now time.Time) ([]Summary, error) {
	if c.age <= 0 {
		return c.source.Read(ctx, names, now)
	}
	now = now.Round(0)
	list := make([]Summary, len(names))
	var missing []string
	var indices []int // of the missing names in the list
	for i, name := range names {
		// ReadAt may be after now, if a concurrent call that began later has read first.
		if hit, ok := c.entries.Get(name); ok && now.Sub(hit.ReadAt).Abs() <= c.age {
			list[i] = hit.clone()
		} else {
			missing, indices = append(missing, name), append(indices, i)
		}
	}
	read, err := c.source.Read(ctx, missing, now)
	if err != nil {
		return nil, err
	}
	for i, s := range read {
		c.entries.Set(missing[i], s)
		list[indices[i]] = s.clone()
	}
	return list, nil
}

// clone returns the summary with a copy of its value, which the caller may change.
func (s Summary) clone() Summary {
	s.Value = new(big.Int).Set(s.Value)
	return s
}
