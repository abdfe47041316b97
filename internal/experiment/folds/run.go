package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/local"
)

// report is what a run came to.
type report struct {
	totals
	Faults      map[fault]int
	Description []string // of the first differences
}

// torment makes one run: load and faults, then quiescence, then the comparison.
func torment(ctx context.Context, o options) (rep report, err error) {
	r, err := newRig(ctx, o)
	if err != nil {
		return rep, fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.load(ctx); err != nil {
		return rep, fmt.Errorf("seed %d: %w", o.Seed, err)
	}
	if err := r.quiesce(ctx); err != nil {
		return rep, fmt.Errorf("seed %d: quiescence: %w", o.Seed, err)
	}
	if err := r.compare(ctx); err != nil {
		return rep, fmt.Errorf("seed %d: comparison: %w", o.Seed, err)
	}
	return r.report(), nil
}

// load has callers send all increments while mappings deliver and things happen.
func (r *rig) load(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	kill := make(chan struct{})
	around, running := errgroup.WithContext(running)
	around.Go(func() error { return r.consume(running, kill) })
	around.Go(func() error { return r.upheave(running, kill) })
	group, loading := errgroup.WithContext(running)
	for i := range callers {
		share := r.o.Increments / callers
		if i == 0 {
			share += r.o.Increments % callers
		}
		c := &caller{rig: r, id: i, random: rand.New(rand.NewPCG(r.o.Seed, uint64(100+i)))}
		group.Go(func() error { return c.run(loading, share) })
	}
	err := group.Wait()
	stop()
	if around := around.Wait(); around != nil {
		return around // why the callers were stopped
	}
	return err
}

// quiesce delivers what is left, still with faults, and in the end all batches that
// were kept, once more and without any.
func (r *rig) quiesce(ctx context.Context) error {
	if err := r.planOn(r.virtual.Load().Plan()); err != nil {
		return err
	}
	if err := r.each(ctx, func(ctx context.Context, m *local.Mapping) error { return m.Drain(ctx) }); err != nil {
		return err
	}
	r.faults.calm()
	for _, d := range r.aggregator {
		if err := d.again(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) report() report {
	t := r.books.totals
	t.Sends, t.Writes, t.Folds = r.sends.Load(), r.writes.Load(), r.folds.Load()
	t.Deliveries, t.Batches = r.deliveries.Load(), r.batches.Load()
	t.Shards, t.Counters = len(r.virtual.Load().Plan().Shards), r.o.Counters
	return report{t, r.faults.injected(), r.books.shown}
}
