package eventsource

import (
	"context"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
)

// relistInterval is how often new stream shards are looked for. Those that
// follow a stream shard which ended are looked for at once.
const relistInterval = 10 * time.Second

// run is one Run or Drain of a mapping. Its maps are the supervisor's alone.
type run struct {
	m        *Mapping
	drain    bool
	group    *errgroup.Group
	saved    map[string]checkpoint // what the last run left, by stream shard
	begun    map[string]bool       // stream shards started in this run
	finished map[string]bool       // closed stream shards that are done
	active   int                   // consumers that have not ended
	ended    chan end
}

// end says that a consumer has ended without an error.
type end struct {
	shard    string
	finished bool // the stream shard is closed, and all of it is done
}

// consume runs a consumer for each stream shard, parents before children.
func (m *Mapping) consume(ctx context.Context, drain bool) error {
	release, err := claim(m.o.Source.ARN(), m.o.Name)
	if err != nil {
		return err
	}
	defer release()
	shards, err := m.listShards(ctx)
	if err != nil {
		return err
	}
	r := &run{m: m, drain: drain, begun: map[string]bool{}, finished: map[string]bool{}, ended: make(chan end)}
	if r.saved, err = m.loadCheckpoints(ctx, shards); err != nil {
		return err
	}
	for shard, cp := range r.saved {
		r.finished[shard] = cp.finished
	}
	defer m.forgetAll()
	r.group, ctx = errgroup.WithContext(ctx)
	r.group.Go(func() error { return r.supervise(ctx, shards) })
	return r.group.Wait()
}

// loadCheckpoints returns the checkpoints by stream shard, and deletes those of streams
// and stream shards that no longer exist.
func (m *Mapping) loadCheckpoints(ctx context.Context, shards []StreamShard) (map[string]checkpoint, error) {
	var rows map[string]dynamo.Item
	if err := m.retry(ctx, func() (err error) { rows, err = m.checkpoints.rows(ctx); return err }); err != nil {
		return nil, err
	}
	saved, old, err := m.checkpoints.sort(rows, shards)
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

func (m *Mapping) listShards(ctx context.Context) (shards []StreamShard, err error) {
	err = m.retry(ctx, func() (err error) { shards, err = m.o.Source.Shards(ctx); return err })
	return shards, err
}

// supervise starts consumers as stream shards appear and end. It returns when
// ctx ends or, when draining, when all have been consumed.
func (r *run) supervise(ctx context.Context, shards []StreamShard) error {
	tick := time.NewTicker(relistInterval)
	defer tick.Stop()
	var last end
	for {
		r.startAll(ctx, shards)
		// Only now: between a stream shard's end and its children's start, the
		// mapping must not pass for having caught up.
		r.m.forget(last.shard)
		if r.drain && r.active == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case last = <-r.ended:
			r.active--
			r.finished[last.shard] = last.finished
		case <-tick.C:
		}
		var err error
		if shards, err = r.m.listShards(ctx); err != nil {
			return err
		}
	}
}

// startAll starts what can be started: a stream shard waits for its parent, as
// long as that is listed. What is no longer listed is forgotten.
func (r *run) startAll(ctx context.Context, shards []StreamShard) {
	listed := make(map[string]bool, len(shards))
	for _, s := range shards {
		listed[s.ID] = true
	}
	for _, s := range shards {
		waits := listed[s.Parent] && !r.finished[s.Parent]
		if !waits && !r.begun[s.ID] && !r.finished[s.ID] {
			r.start(ctx, s.ID)
		}
	}
	gone := func(id string, _ bool) bool { return !listed[id] && !r.m.runs(id) }
	maps.DeleteFunc(r.begun, gone)
	maps.DeleteFunc(r.finished, gone)
}

func (r *run) start(ctx context.Context, shard string) {
	c := r.m.newConsumer(shard, r.saved[shard])
	delete(r.saved, shard)
	r.begun[shard] = true
	r.active++
	r.group.Go(func() error {
		finished, err := c.run(ctx, r.drain)
		if err != nil {
			return fmt.Errorf("mapping %s, stream shard %s: %w", r.m.o.Name, shard, err)
		}
		select {
		case r.ended <- end{shard, finished}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

func (m *Mapping) newConsumer(shard string, cp checkpoint) *consumer {
	c := &consumer{
		m: m, reader: m.o.Source.Open(shard, cp.after),
		delivery: delivery{handler: invoker{m: m, shard: shard}, cp: cp},
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.consumers[shard] = c
	return c
}

func (m *Mapping) runs(shard string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.consumers[shard] != nil
}

func (m *Mapping) forget(shard string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.consumers, shard)
}

func (m *Mapping) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.consumers)
}
