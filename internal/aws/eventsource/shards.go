package eventsource

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// relistInterval is the time between two listings of the stream shards. When a stream shard
// ends, its children are listed at once.
const relistInterval = 10 * time.Second

// consume runs a consumer for each stream shard, parents before children. With drain it
// returns when all stream shards have been consumed.
func (m *Mapping) consume(ctx context.Context, drain bool) error {
	shards, err := m.listShards(ctx)
	nothingToDrain := drain && len(shards) == 0
	if err != nil || nothingToDrain {
		return err
	}
	saved, err := m.loadCheckpoints(ctx, shards)
	if err != nil {
		return err
	}
	lineage := &Lineage{
		List: m.listShards, Done: func(string) {}, Endless: !drain,
		Relist: relistInterval, AskAgain: m.o.PollInterval, MaxAsks: 1,
		Start: func(shard string) func(context.Context) (time.Time, error) {
			if saved[shard] == nil {
				saved[shard] = &checkpoint{}
			}
			return m.shardReader(shard, saved[shard], drain)
		},
	}
	lineage.Reset(shards, func(s Shard) bool { return saved[s.ID] != nil && saved[s.ID].finished })
	return lineage.Run(ctx)
}

// shardReader returns a function that consumes a stream shard from a checkpoint on, and advances the checkpoint, for
// [Lineage].Start.
func (m *Mapping) shardReader(shard string, cp *checkpoint, drain bool) func(context.Context) (time.Time, error) {
	c := &consumer{mapping: m, reader: m.o.Source.Open(shard, cp.after), delivery: delivery{mapping: m, shard: shard, cp: cp}}
	return func(ctx context.Context) (ended time.Time, err error) {
		finished, err := c.run(ctx, drain)
		if err != nil {
			return ended, fmt.Errorf("mapping %s, stream shard %s: %w", m.o.Name, shard, err)
		}
		if finished {
			ended = time.Now()
		}
		return ended, nil
	}
}

// loadCheckpoints returns the checkpoints by stream shard. It deletes checkpoints whose stream
// or stream shard no longer exists.
func (m *Mapping) loadCheckpoints(ctx context.Context, shards []Shard) (map[string]*checkpoint, error) {
	var rows map[string]dynamo.Item
	if err := m.retry(ctx, func() (err error) { rows, err = m.checkpoints.queryRows(ctx); return err }); err != nil {
		return nil, err
	}
	saved, old, err := m.checkpoints.parseRows(rows, shards)
	if err != nil {
		return nil, err
	}
	for _, key := range old {
		if err := m.retry(ctx, func() error { return m.checkpoints.delete(ctx, key) }); err != nil {
			return nil, err
		}
	}
	return saved, nil
}

func (m *Mapping) listShards(ctx context.Context) (shards []Shard, err error) {
	err = m.retry(ctx, func() (err error) { shards, err = m.o.Source.Shards(ctx); return err })
	return shards, err
}
