package counters

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Summaries reads the summaries of counters that the aggregator keeps.
type Summaries struct {
	client ReaderClient
	table  string
	shards *shardmap.Map
}

// NewSummaries returns a Summaries over the rollups table.
func NewSummaries(client ReaderClient, table string, shards *shardmap.Map) *Summaries {
	return &Summaries{client: client, table: table, shards: shards}
}

// Summary is a counter's value as the aggregator last folded it.
type Summary struct {
	Value  *big.Int
	AsOf   time.Time // when the newest fold was made; zero if there was none
	ReadAt time.Time // the time of the call that read it
	Shards int       // the newest shard count
}

// Read returns the summaries of these counters, in their order, by eventually consistent
// reads: one item per 64 write shards. A counter without a summary has value 0. A repeated
// name is read once.
func (s *Summaries) Read(ctx context.Context, names []string, now time.Time) ([]Summary, error) {
	summaries := make([]Summary, len(names))
	first, owner := map[string]int{}, map[string]int{} // by name, and by partition key
	var keys []dynamo.Item
	for i, name := range names {
		if _, again := first[name]; again {
			continue
		}
		first[name] = i
		entry, err := s.shards.Lookup(ctx, Key(name), now)
		if err != nil {
			return nil, fmt.Errorf("reading the summary of %q: %w", name, err)
		}
		summaries[i] = Summary{Value: new(big.Int), ReadAt: now, Shards: entry.History.Newest()}
		for source := 0; source < entry.Most(); source += schema.SourcesPerPartial {
			pk := schema.SummaryKey(name, source)
			owner[pk] = i
			keys = append(keys, dynamo.Key(pk, schema.SoleSK))
		}
	}
	items, err := dynamo.BatchGet(ctx, s.client, s.table, keys, false)
	if err != nil {
		return nil, fmt.Errorf("reading summaries: %w", err)
	}
	for _, it := range items {
		if err := summaries[owner[dynamo.Text(it, schema.PK)]].add(it); err != nil {
			return nil, fmt.Errorf("summary %q: %w", dynamo.Text(it, schema.PK), err)
		}
	}
	for i, name := range names {
		if of := summaries[first[name]]; first[name] != i {
			of.Value = new(big.Int).Set(of.Value) // the caller may change one
			summaries[i] = of
		}
	}
	return summaries, nil
}

// add adds one item of the summary.
func (s *Summary) add(partial dynamo.Item) error {
	for name := range partial {
		if !schema.IsValueAttr(name) {
			continue
		}
		value, err := dynamo.WholeNumber(partial, name)
		if err != nil {
			return err
		}
		s.Value.Add(s.Value, value)
	}
	millis, err := dynamo.Integer(partial, schema.AsOf)
	if at := time.UnixMilli(millis).UTC(); at.After(s.AsOf) {
		s.AsOf = at
	}
	return err
}
