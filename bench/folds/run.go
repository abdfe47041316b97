package folds

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/local/eventsource"
)

// torment makes one run: load and faults, then quiescence, then the comparison.
func torment(ctx context.Context, o options) (rep *report, err error) {
	r, err := newSystem(ctx, o)
	if err != nil {
		return rep, fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.load(ctx); err != nil {
		return rep, fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	if err := r.quiesce(ctx); err != nil {
		return rep, fmt.Errorf("seed %d: quiescence: %w", o.Seed, err)
	}
	if err := r.compare(ctx); err != nil {
		return rep, fmt.Errorf("seed %d: comparison: %w", o.Seed, err)
	}
	r.count(streamShards, len(r.virtual.Load().Plan().Shards))
	r.count(compared, o.Counters)
	r.count(poisonRecords, len(r.mended)+len(r.poison))
	return r.report, nil
}

// load has callers send all increments and events while mappings deliver and things
// happen; in a run with a gap all is repaired then, while mappings still deliver.
func (r *system) load(ctx context.Context) error {
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	kill := make(chan struct{})
	consumers, running := errgroup.WithContext(consuming)
	consumers.Go(func() error { return r.consume(running, kill) })
	err := r.underLoad(running, kill)
	if err == nil && r.o.Gap {
		err = r.repair(running)
	}
	stop()
	if failed := consumers.Wait(); failed != nil {
		return failed // why the load was stopped
	}
	return err
}

// underLoad makes the load, and all that happens meanwhile.
func (r *system) underLoad(ctx context.Context, kill chan<- struct{}) error {
	ctx, calm := context.WithCancel(ctx)
	defer calm()
	around, happening := errgroup.WithContext(ctx)
	around.Go(func() error { return r.upheave(happening, kill) })
	around.Go(func() error { return r.compacting(happening) })
	outage := new(errgroup.Group)
	if r.o.Gap {
		outage.Go(func() error { return r.outage(happening) })
	}
	err := r.call(happening)
	r.settling.Store(true)
	if err == nil {
		err = outage.Wait()
	}
	if err == nil {
		err = r.settle(happening)
	}
	calm()
	if failed := around.Wait(); failed != nil {
		return failed // why the callers were stopped
	}
	return err
}

// call has callers send all that there is.
func (r *system) call(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range callers {
		c := &caller{system: r, id: i, random: rand.New(rand.NewPCG(r.o.Seed, uint64(100+i)))}
		group.Go(func() error { return c.run(ctx, share(r.o.Increments, callers, i)) })
	}
	for i := range eventCallers {
		c := &eventCaller{system: r, id: i, draw: newDrawer(r, i)}
		group.Go(func() error { return c.run(ctx, share(r.o.Events, eventCallers, i)) })
	}
	return group.Wait()
}

// settleTime is how long no batch may come before the stream is taken for read.
const settleTime = 300 * time.Millisecond

// settle waits until the mappings have delivered about all, while stream shards
// still end and mappings still die: folds lag behind the load.
func (r *system) settle(ctx context.Context) error {
	for before := -1; before != r.figures.of(batches); {
		before = r.figures.of(batches)
		select {
		case <-time.After(settleTime):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// What the folds of an event and of an increment take, about: the load is spread
// over that time, so that things happen to the folds while they are made.
const (
	foldEvent     = 3 * time.Millisecond
	foldIncrement = 200 * time.Microsecond
)

// load is about how long a run's load takes: longer where it goes on while audits
// wait for the stream.
func (o options) load() time.Duration {
	load := time.Duration(o.Events)*foldEvent + time.Duration(o.Increments)*foldIncrement
	if o.Gap {
		return 2 * load
	}
	return load
}

// pause waits between two calls of a caller that sends n of its share.
func (r *system) pause(ctx context.Context, random *rand.Rand, n, share int) {
	rig.Sleep(ctx, scale(r.o.load(), 2*random.Float64()*float64(n)/float64(share)))
}

// share is what one of n does of a whole.
func share(whole, n, one int) int {
	if one == 0 {
		return whole/n + whole%n
	}
	return whole / n
}

// quiesce delivers what is left, still with faults, and in the end all batches that
// were kept, once more and without any.
func (r *system) quiesce(ctx context.Context) error {
	if err := r.planOn(r.virtual.Load().Plan()); err != nil {
		return err
	}
	if err := r.each(ctx, func(ctx context.Context, m *eventsource.Mapping) error { return m.Drain(ctx) }); err != nil {
		return err
	}
	r.dice.calm()
	for _, d := range r.aggregator {
		if err := d.again(ctx); err != nil {
			return err
		}
	}
	return nil
}
