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

// check checks the write shards of a counter that the shard map or the summary has. With Options.afterErase it checks
// all that can exist.
func (c *counters) check(ctx context.Context, target schema.Target) (Result, error) {
	if c.o.afterErase {
		return c.checkShards(ctx, target.Base.Name, shard.MaxShards)
	}
	entry, err := c.entryOf(ctx, target.Base)
	if err != nil {
		return Result{}, err
	}
	return c.checkShards(ctx, target.Base.Name, entry.Most())
}

// targets returns the counter as the only target, whatever the range.
func (c *counters) targets(name string, _ Range) ([]schema.Target, error) {
	return []schema.Target{{Base: schema.BaseKey{Type: schema.Counter, Name: name}}}, nil
}

// checkShards checks a counter's write shards 0 to shards-1, and others that the summary has. If a concurrent change
// prevents a repair, it checks all of them again, and keeps the findings that were repaired.
func (c *counters) checkShards(ctx context.Context, name string, shards int) (Result, error) {
	var all Result
	last, err := c.repeat(ctx, maxRounds, Busy, func(int) (Result, error) {
		sources, err := c.readSources(ctx, name, shards)
		if err != nil {
			return Result{}, err
		}
		result, err := c.compareSources(ctx, name, sources)
		hasNoItem := func(s source) bool { return s.item == nil }
		all.Items = int64(len(slices.DeleteFunc(sources, hasNoItem)))
		if errors.Is(err, parts.ErrMoved) {
			notRepaired := func(f Finding) bool { return !f.Repaired }
			all = all.with(Result{Findings: slices.DeleteFunc(result.Findings, notRepaired)})
		}
		return result, err
	})
	return all.with(last), err
}

// compareSources returns what is wrong with the sources. With Options.Repair it repairs the summary. Without it, it
// first waits for folds in flight. A repair need not wait, since it folds the same states, each once by its rev.
func (c *counters) compareSources(ctx context.Context, name string, sources []source) (result Result, err error) {
	if !c.o.Repair {
		if sources, err = c.awaitFolds(ctx, name, sources); err != nil {
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
