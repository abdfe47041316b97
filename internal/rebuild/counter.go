package rebuild

import (
	"context"
	"errors"
	"slices"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard"
)

// counters checks counters, write shard by write shard.
type counters struct{ *tools }

// check checks a counter on the write shards of the shard map, and on others that the summary has. With
// Options.gone it checks all that can exist.
func (c *counters) check(ctx context.Context, t schema.Target) (Result, error) {
	if c.o.gone {
		return c.checkShards(ctx, t.Base.Name, shard.MaxShards)
	}
	entry, err := c.entryOf(ctx, t.Base)
	if err != nil {
		return Result{}, err
	}
	return c.checkShards(ctx, t.Base.Name, entry.Most())
}

// targets returns the whole counter: it has no time.
func (c *counters) targets(name string, _ Range) ([]schema.Target, error) {
	return []schema.Target{{Base: schema.BaseKey{Type: schema.Counter, Name: name}}}, nil
}

// checkShards checks a counter's write shards below most. If a concurrent change prevents a repair, it checks them again.
func (c *counters) checkShards(ctx context.Context, name string, most int) (Result, error) {
	var all Result
	last, err := c.repeat(ctx, maxRounds, Busy, func(int) (Result, error) {
		sources, err := c.readSources(ctx, name, most)
		if err != nil {
			return Result{}, err
		}
		result, err := c.compare(ctx, name, sources)
		all.Items = int64(len(slices.DeleteFunc(sources, func(s source) bool { return s.item == nil })))
		if errors.Is(err, parts.ErrMoved) { // the others are checked again
			all = all.with(Result{Findings: slices.DeleteFunc(result.Findings, func(f Finding) bool { return !f.Repaired })})
		}
		return result, err
	})
	return all.with(last), err
}

// compare compares the sources, and repairs the summary. Only a dry run waits for folds in flight: a repair folds the same
// states, each once by its rev.
func (c *counters) compare(ctx context.Context, name string, sources []source) (result Result, err error) {
	if !c.o.Repair {
		if sources, err = c.await(ctx, name, sources); err != nil {
			return Result{}, err
		}
	}
	for _, s := range sources {
		if state := s.classify(); state != "" {
			result.Findings = append(result.Findings, s.finding(state))
		}
	}
	if c.o.Repair {
		err = c.repair(ctx, name, sources, result.Findings)
	}
	return result, err
}
