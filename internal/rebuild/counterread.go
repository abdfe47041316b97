package rebuild

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// readSources reads the partials of a counter's summary, and then its write shards: 0 to shards-1, and others that the
// summary has. The sources are in the order of their numbers.
func (c *counters) readSources(ctx context.Context, name string, shards int) ([]source, error) {
	sources := make([]source, shards)
	for n := range sources {
		sources[n].n = n
	}
	partials, err := c.readPartials(ctx, name, sources)
	if err != nil {
		return nil, err
	}
	for _, it := range partials {
		for _, n := range schema.SourcesOf(it) {
			if n >= shards {
				sources = append(sources, source{n: n})
			}
		}
	}
	slices.SortFunc(sources, func(x, y source) int { return x.n - y.n })
	sources = slices.CompactFunc(sources, func(x, y source) bool { return x.n == y.n })
	return sources, c.readStates(ctx, name, sources, partials)
}

// readPartials returns the partials of these sources by partition key.
func (c *counters) readPartials(ctx context.Context, name string, sources []source) (map[string]item, error) {
	return c.readItems(ctx, c.o.Names.Rollups, sources, func(n int) (pk, sk string) { return schema.SummaryKey(name, n), schema.SoleSK })
}

// readItems returns the items of these sources by partition key, read consistently.
func (c *counters) readItems(ctx context.Context, table string, sources []source, keyOf func(n int) (pk, sk string)) (map[string]item, error) {
	keys := map[string]item{}
	for _, s := range sources {
		pk, sk := keyOf(s.n)
		keys[pk] = dynamo.Key(pk, sk)
	}
	found := map[string]item{}
	for chunk := range slices.Chunk(slices.Collect(maps.Values(keys)), dynamo.MaxBatchGet) {
		list, err := dynamo.BatchGet(ctx, c.client, table, chunk, true)
		if err != nil {
			return nil, fmt.Errorf("reading %d items of %s: %w", len(keys), table, err)
		}
		for _, it := range list {
			found[dynamo.Text(it, schema.PK)] = it
		}
	}
	return found, nil
}

// readStates reads the write shards, and sets the states of the sources in the summary and in their items.
func (c *counters) readStates(ctx context.Context, name string, sources []source, partials map[string]item) error {
	items, err := c.readItems(ctx, c.o.Names.Items, sources, func(n int) (pk, sk string) { return schema.CounterKey(name, n) })
	if err != nil {
		return err
	}
	for i := range sources {
		s := &sources[i]
		*s = source{n: s.n}
		s.setSummary(name, partials)
		pk, _ := schema.CounterKey(name, s.n)
		if it := items[pk]; it != nil {
			s.setItem(it, pk)
		}
	}
	return nil
}

// setSummary sets the state that the summary has of the source, a write shard.
func (s *source) setSummary(name string, partials map[string]item) {
	pk := schema.SummaryKey(name, s.n)
	it := partials[pk]
	rev, value := schema.RevAttr(s.n), schema.ValueAttr(s.n)
	if it[rev] != nil || it[value] != nil {
		s.summary = s.parseItem(it, rev, value, "the summary "+pk)
	}
}

// setItem sets the state that the write shard's item has.
func (s *source) setItem(it item, pk string) {
	s.item = s.parseItem(it, "rev", "value", "the item "+pk)
	if _, err := dynamo.LargestOfSet(it, schema.CounterMaxShards); err != nil && s.fault == nil {
		s.fault = fmt.Errorf("the item %s: %w", pk, err)
	}
}

// parseItem returns the rev and value of an item. If either can't be read, it returns nil, and sets the source's fault
// to an error that begins with place.
func (s *source) parseItem(it item, revName, valueName, place string) *state {
	rev, err := wholeNumber(it, revName)
	var value *big.Int
	if err == nil {
		value, err = wholeNumber(it, valueName)
	}
	if err == nil {
		return &state{rev, value}
	}
	if s.fault == nil {
		s.fault = fmt.Errorf("%s: %w", place, err)
	}
	return nil
}

func wholeNumber(it item, name string) (*big.Int, error) {
	value, ok := new(big.Int).SetString(dynamo.Digits(it, name), 10)
	switch {
	case it[name] == nil:
		return nil, fmt.Errorf("it has no %s", name)
	case !ok:
		return nil, fmt.Errorf("its %s is not a whole number", name)
	}
	return value, nil
}
