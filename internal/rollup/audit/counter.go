package audit

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

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

// counter audits a counter on the write shards that the shard map tells of, and those
// that the summary has besides.
func (a *Auditor) counter(ctx context.Context, name string) (Result, error) {
	entry, err := a.shards.Read(ctx, schema.BaseKey{Type: schema.Counter, Name: name}.String())
	if err != nil {
		result, _, err := a.notRead(fmt.Errorf("the shard map: %w", err))
		return result, err
	}
	result, _, err := a.counterOn(ctx, name, entry.Most())
	return result, err
}

// Counter audits a counter, as Check does, on all write shards that there can be,
// whatever the shard map says. There is how many of them there are, as they were read
// last.
func (a *Auditor) Counter(ctx context.Context, name string) (r Result, there int, err error) {
	r, there, err = a.counterOn(ctx, name, shard.MaxShards)
	for i := range r.Findings {
		r.Findings[i].describe(schema.Target{Base: schema.BaseKey{Type: schema.Counter, Name: name}})
	}
	return r, there, err
}

// counterOn audits a counter on so many write shards. After repairs that something else
// came in the way of it starts over, with what is left.
func (a *Auditor) counterOn(ctx context.Context, name string, most int) (all Result, there int, err error) {
	for round := range maxRounds {
		if round > 0 {
			if err := a.pause(ctx); err != nil {
				return all, there, err
			}
		}
		sources, err := a.readSources(ctx, name, most)
		if err != nil {
			return all, there, err
		}
		there = len(slices.DeleteFunc(slices.Clone(sources), func(s source) bool { return s.item == nil }))
		result, again, err := a.counterOnce(ctx, name, sources)
		all.Findings = append(all.Findings, result.Findings...)
		if err != nil || !again {
			return all, there, err
		}
	}
	all.Findings = append(all.Findings, finding(Busy, fmt.Sprintf("it changed each of %d times it was to be repaired", maxRounds)).Findings...)
	return all, there, nil
}

func (a *Auditor) counterOnce(ctx context.Context, name string, sources []source) (result Result, again bool, err error) {
	if !a.o.Eager {
		if sources, err = a.await(ctx, name, sources); err != nil {
			return Result{}, false, err
		}
	}
	for _, s := range sources {
		if state := s.judge(); state != "" {
			result.Findings = append(result.Findings, s.finding(state))
		}
	}
	if a.o.Repair {
		again, err = a.repair(ctx, name, sources, result.Findings)
	}
	if again { // what was not repaired is looked at again
		result.Findings = slices.DeleteFunc(result.Findings, func(f Finding) bool { return !f.Repaired })
	}
	return result, again, err
}

// notRead makes a finding of what can't be read, and passes on errors of calls.
func (a *Auditor) notRead(err error) (Result, bool, error) {
	if ofCall(err) {
		return Result{}, false, err
	}
	return finding(Unreadable, err.Error()), false, nil
}

func (s source) finding(state State) Finding {
	if s.fault != nil {
		return Finding{WriteShard: &s.n, State: state, Detail: s.fault.Error()}
	}
	return Finding{WriteShard: &s.n, State: state, Summary: figuresOf(s.summary), Items: figuresOf(s.item)}
}

// readSources reads the partials of a summary and then the write shards: those up
// to the most that there were, and those that the summary has besides.
func (a *Auditor) readSources(ctx context.Context, name string, most int) ([]source, error) {
	var first []int // source of each partial
	for n := 0; n < most; n += schema.SourcesPerPartial {
		first = append(first, n)
	}
	partials, err := a.readPartials(ctx, name, first)
	if err != nil {
		return nil, err
	}
	index := map[int]source{}
	for n := range most {
		index[n] = source{n: n}
	}
	for _, it := range partials {
		for _, n := range schema.SourcesOf(it) {
			index[n] = source{n: n}
		}
	}
	sources := slices.SortedFunc(maps.Values(index), func(x, y source) int { return x.n - y.n })
	for i := range sources {
		sources[i].takeSummary(name, partials)
	}
	return sources, a.readItems(ctx, name, sources)
}

// maxReads bounds the reads under way for one target.
const maxReads = 16

// readPartials reads the partials that have these sources, by partition key.
func (a *Auditor) readPartials(ctx context.Context, name string, sources []int) (map[string]item, error) {
	partials := map[string]item{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	keys := map[string]bool{}
	for _, n := range sources {
		pk := schema.SummaryKey(name, n)
		if keys[pk] {
			continue
		}
		keys[pk] = true
		group.Go(func() error {
			it, err := a.get(ctx, a.o.Names.Rollups, pk, schema.SoleSK)
			mu.Lock()
			defer mu.Unlock()
			partials[pk] = it
			return err
		})
	}
	return partials, group.Wait()
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
func (a *Auditor) readItems(ctx context.Context, name string, sources []source) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for i := range sources {
		s := &sources[i]
		group.Go(func() error {
			pk := sourceKey(name, s.n)
			it, err := a.get(ctx, a.o.Names.Items, pk, schema.SoleSK)
			if s.item = nil; it != nil {
				s.item = s.read(it, "rev", "value", "the item "+pk)
			}
			return err
		})
	}
	return group.Wait()
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
	if it[name] == nil {
		return nil, fmt.Errorf("it has no %s", name)
	}
	if n, ok := it[name].(*types.AttributeValueMemberN); ok {
		if value, ok := new(big.Int).SetString(n.Value, 10); ok {
			return value, nil
		}
	}
	return nil, fmt.Errorf("its %s is not a whole number", name)
}
