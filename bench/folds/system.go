package folds

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// options are those of one run.
type options struct {
	Endpoint   string // of the engine
	Seed       uint64
	Increments int // to be sent, half of them keyed
	Counters   int // to draw from, 2 or more
	Events     int // to be sent, those sent again included
	Entities   int // to draw from, 2 or more
	Spread     eventsource.Spread
	Gap        bool // lose a stretch of the stream, and repair everything in the end

	// For tests of the harness itself:
	broken breakage
	drop   string // lose the deliveries that hold this text
	repeat bool   // add to deliveries their last record, under another sequence number
}

const (
	callers      = 8
	eventCallers = 6
	mappings     = 2 // consumers of every stream shard
)

// system is one with what torments it, on tables of its own.
type system struct {
	*rig.Tables
	*report
	o       options
	source  *eventsource.Stream
	virtual atomic.Pointer[eventsource.Virtual]
	changer *shardmap.Changer
	poison  []poison
	began   time.Time

	settling atomic.Bool // the load is over
	auditing atomic.Bool // under load
	gap      gap
	mended   []poison

	dice       *dice
	books      *books
	ingest     *pool[*process]
	aggregator [mappings]*delivery
}

// newSystem makes the tables and starts the processes. Close deletes the tables.
func newSystem(ctx context.Context, o options) (r *system, err error) {
	r = &system{report: &report{}, o: o, began: time.Now()}
	r.dice = newDice(o.Seed, &r.faults)
	r.books = &books{want: map[string]int64{}, events: map[identity]*event{}, report: r.report}
	if r.Tables, err = rig.NewTables(ctx, o.Endpoint, limiter.Options{}); err != nil {
		return nil, err
	}
	if err := r.start(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *system) count(f figure, n int) { r.figures.add(f, n) }

func (r *system) start(ctx context.Context) (err error) {
	if r.source, err = r.Stream(ctx); err != nil {
		return err
	}
	if err := r.planOn(eventsource.VirtualPlan{}); err != nil {
		return err
	}
	r.changer = shardmap.NewChanger(r.DB, shardmap.New(r.DB, r.Names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{})
	if r.ingest, err = newPool(r.startIngest, func(p *process) *life { return p.life }); err != nil {
		return err
	}
	for i := range r.aggregator {
		if r.aggregator[i], err = newDelivery(r); err != nil {
			return err
		}
	}
	return nil
}

// planOn makes the virtual stream that goes on with a plan.
func (r *system) planOn(plan eventsource.VirtualPlan) error {
	virtual, err := eventsource.NewVirtual(r.source, eventsource.VirtualOptions{Shards: 3, Seed: r.o.Seed, Spread: r.o.Spread, Plan: plan})
	r.virtual.Store(virtual)
	return err
}

// counter names one; names may hold the separator.
func (r *system) counter(i int) string { return fmt.Sprintf("c#%d", i) }

// zipf draws a counter.
func (r *system) zipf(random *mathrand.Rand) uint64 {
	return mathrand.NewZipf(random, 1.1, 1, uint64(r.o.Counters-1)).Uint64()
}

func mappingName(i int) string { return fmt.Sprintf("aggregator-%d", i) }

// mapping makes one of the two that read every stream shard.
func (r *system) mapping(i int) (*eventsource.Mapping, error) {
	return r.Mapping(eventsource.MappingOptions{
		Name: mappingName(i), Source: r.virtual.Load(), Handler: r.aggregator[i],
		BatchSize: 100, BatchingWindow: 20 * time.Millisecond, TumblingWindow: 2 * time.Second,
		Attempts: attempts, BackOff: time.Millisecond,
	})
}

// attempts are enough for a good record to get through all faults.
const attempts = 15

// each does something with both mappings at a time.
func (r *system) each(ctx context.Context, do func(context.Context, *eventsource.Mapping) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range mappings {
		m, err := r.mapping(i)
		if err != nil {
			return err
		}
		group.Go(func() error { return do(ctx, m) })
	}
	return group.Wait()
}

// consume runs the mappings until ctx ends, killing them now and then. They start
// again from their checkpoints and the virtual stream's plan.
func (r *system) consume(ctx context.Context, kill <-chan struct{}) error {
	for ctx.Err() == nil {
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- r.each(running, func(ctx context.Context, m *eventsource.Mapping) error { return m.Run(ctx) })
		}()
		var err error
		select {
		case err = <-ended:
		case <-ctx.Done():
			stop()
			err = <-ended
		case <-kill:
			stop()
			err = <-ended
			r.dice.count(restart)
			err = errors.Join(err, r.planOn(r.virtual.Load().Plan()))
		}
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}
