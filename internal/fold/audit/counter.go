package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// counters audits counters, write shard by write shard.
type counters struct{ *tools }

// check audits a counter on the write shards of the shard map, and on others that the summary has.
func (c *counters) check(ctx context.Context, t schema.Target) (Result, error) {
	most, err := c.mostShards(ctx, t.Base)
	if err != nil {
		return notRead(err)
	}
	result, _, err := c.on(ctx, t.Base.Name, most)
	return result, err
}

// targets returns the whole counter: it has no time.
func (c *counters) targets(name string, _ Range) ([]schema.Target, error) {
	return []schema.Target{{Base: schema.BaseKey{Type: kind.Counter, Name: name}}}, nil
}

// Counter audits a counter, as Check does, on every write shard that can exist, whatever the shard
// map has. It also returns how many write shards existed at the last reading.
func (a *Auditor) Counter(ctx context.Context, name string) (r Result, there int, err error) {
	r, there, err = a.counters.on(ctx, name, shard.MaxShards)
	r.describe(schema.Target{Base: schema.BaseKey{Type: kind.Counter, Name: name}})
	return r, there, err
}

// on audits a counter on its first most write shards. If a concurrent change prevents a repair, it audits the rest again.
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
	all.Findings = append(all.Findings, finding(Busy, fmt.Sprintf("it changed during each of %d repairs: audit it again", maxRounds)).Findings...)
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
	if again { // unrepaired sources are judged in the next round
		result.Findings = slices.DeleteFunc(result.Findings, func(f Finding) bool { return !f.Repaired })
	}
	return result, again, err
}
