package audit

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// state is what a write shard has, or a summary has of it. Its numbers are never
// changed.
type state struct{ rev, value *big.Int }

// source is a write shard of a counter with both of its states, nil where there is
// none. The summary's was read first: an item's rev below it can't be newer.
type source struct {
	n             int
	summary, item *state
	fault         error // why one of them can't be read
}

// judge says what is wrong with a source, "" for nothing.
func (s source) judge() State {
	switch {
	case s.fault != nil:
		return Unreadable
	case s.item == nil:
		if s.summary == nil || s.summary.value.Sign() == 0 {
			return ""
		}
		return Removed
	case s.summary == nil || s.summary.rev.Cmp(s.item.rev) < 0:
		return Stale
	case s.summary.rev.Cmp(s.item.rev) > 0:
		return Ahead
	case s.summary.value.Cmp(s.item.value) != 0:
		return Wrong
	}
	return ""
}

// counters are audited write shard by write shard.
type counters struct{ *tools }

// check audits a counter on the write shards that the shard map tells of, and those
// that the summary has besides.
func (c *counters) check(ctx context.Context, t schema.Target) (Result, error) {
	most, err := c.mostShards(ctx, t.Base)
	if err != nil {
		return notRead(err)
	}
	result, _, err := c.on(ctx, t.Base.Name, most)
	return result, err
}

// Counter audits a counter, as Check does, on all write shards that there can be,
// whatever the shard map says. There is how many of them there are, as they were read
// last.
func (a *Auditor) Counter(ctx context.Context, name string) (r Result, there int, err error) {
	r, there, err = a.counters.on(ctx, name, shard.MaxShards)
	r.describe(schema.Target{Base: schema.BaseKey{Type: schema.Counter, Name: name}})
	return r, there, err
}

// on audits a counter on so many write shards. After repairs that something else
// came in the way of it starts over, with what is left.
func (c *counters) on(ctx context.Context, name string, most int) (all Result, there int, err error) {
	for round := range maxRounds {
		if round > 0 {
			if err := c.pause(ctx); err != nil {
				return all, there, err
			}
		}
		sources, err := c.readSources(ctx, name, most)
		if err != nil {
			return all, there, err
		}
		there = len(slices.DeleteFunc(slices.Clone(sources), func(s source) bool { return s.item == nil }))
		result, again, err := c.once(ctx, name, sources)
		all.Findings = append(all.Findings, result.Findings...)
		if err != nil || !again {
			return all, there, err
		}
	}
	all.Findings = append(all.Findings, finding(Busy, fmt.Sprintf("it changed each of %d times it was to be repaired", maxRounds)).Findings...)
	return all, there, nil
}

func (c *counters) once(ctx context.Context, name string, sources []source) (result Result, again bool, err error) {
	if !c.o.Eager {
		if sources, err = c.await(ctx, name, sources); err != nil {
			return Result{}, false, err
		}
	}
	for _, s := range sources {
		if state := s.judge(); state != "" {
			result.Findings = append(result.Findings, s.finding(state))
		}
	}
	if c.o.Repair {
		again, err = c.repair(ctx, name, sources, result.Findings)
	}
	if again { // what was not repaired is looked at again
		result.Findings = slices.DeleteFunc(result.Findings, func(f Finding) bool { return !f.Repaired })
	}
	return result, again, err
}

func (s source) finding(state State) Finding {
	if s.fault != nil {
		return Finding{WriteShard: &s.n, State: state, Detail: s.fault.Error()}
	}
	return Finding{WriteShard: &s.n, State: state, Summary: figuresOf(s.summary), Items: figuresOf(s.item)}
}

// readSources reads the partials of a summary and then the write shards: those up
// to the most that there were, and those that the summary has besides.
func (c *counters) readSources(ctx context.Context, name string, most int) ([]source, error) {
	sources := make([]source, most)
	for n := range sources {
		sources[n].n = n
	}
	partials, err := c.readPartials(ctx, name, sources)
	if err != nil {
		return nil, err
	}
	for _, it := range partials {
		for _, n := range schema.SourcesOf(it) {
			if n >= most {
				sources = append(sources, source{n: n})
			}
		}
	}
	slices.SortFunc(sources, func(x, y source) int { return x.n - y.n })
	sources = slices.CompactFunc(sources, func(x, y source) bool { return x.n == y.n })
	for i := range sources {
		sources[i].takeSummary(name, partials)
	}
	return sources, c.readItems(ctx, name, sources)
}

// readPartials reads the partials that have these sources, by partition key.
func (c *counters) readPartials(ctx context.Context, name string, sources []source) (map[string]item, error) {
	return c.read(ctx, c.o.Names.Rollups, sources, func(n int) string { return schema.SummaryKey(name, n) })
}

// read reads the items that sources have by their partition keys, consistently, one batch
// after the other.
func (c *counters) read(ctx context.Context, table string, sources []source, pkOf func(n int) string) (map[string]item, error) {
	keys := map[string]item{}
	for _, s := range sources {
		pk := pkOf(s.n)
		keys[pk] = dynamo.Key(pk, schema.SoleSK)
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

// takeSummary sets what the summary has of a source.
func (s *source) takeSummary(name string, partials map[string]item) {
	pk := schema.SummaryKey(name, s.n)
	it := partials[pk]
	rev, value := schema.RevAttr(s.n), schema.ValueAttr(s.n)
	if it[rev] == nil && it[value] == nil {
		s.summary = nil
		return
	}
	s.summary = s.read(it, rev, value, "the summary "+pk)
}

// readItems sets what the write shards themselves have.
func (c *counters) readItems(ctx context.Context, name string, sources []source) error {
	items, err := c.read(ctx, c.o.Names.Items, sources, func(n int) string { return sourceKey(name, n) })
	if err != nil {
		return err
	}
	for i := range sources {
		s := &sources[i]
		s.item = nil
		pk := sourceKey(name, s.n)
		if it := items[pk]; it != nil {
			s.item = s.read(it, "rev", "value", "the item "+pk)
		}
	}
	return nil
}

func sourceKey(name string, n int) string {
	return schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: name}, Shard: n}.String()
}

// read takes a rev and a value from an item, or notes why it can't.
func (s *source) read(it item, revName, valueName, what string) *state {
	rev, err := whole(it, revName)
	if err == nil {
		var value *big.Int
		if value, err = whole(it, valueName); err == nil {
			return &state{rev, value}
		}
	}
	if s.fault == nil {
		s.fault = fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func whole(it item, name string) (*big.Int, error) {
	value, ok := new(big.Int).SetString(dynamo.Digits(it, name), 10)
	switch {
	case it[name] == nil:
		return nil, fmt.Errorf("it has no %s", name)
	case !ok:
		return nil, fmt.Errorf("its %s is not a whole number", name)
	}
	return value, nil
}
