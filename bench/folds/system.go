package folds

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/test/virtualstream"
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
	Spread     virtualstream.Spread
	Gap        bool // lose a stretch of the stream, and repair everything in the end

	// For tests of the harness itself, which change calls, the API's answers and deliveries:
	tamper  func(r role, call any) any
	answer  func([]byte) []byte
	deliver func(*batch)
}

const (
	callers      = 8
	eventCallers = 6
	mappings     = 2 // consumers of every stream shard
	openAtFirst  = 3 // stream shards of each table
)

// rules have some entities rolled up by the day and some of their fields, all others by
// the hour.
const (
	dayPrefix = "day/"
	rules     = `[{"prefix":"day/","every":"1d","fields":["t","w"]},{"every":"1h"}]`
)

// system is one with what torments it, on tables of its own.
type system struct {
	*rig.Tables
	report
	o       options
	rules   fold.Rules
	streams []*stream
	changer *shardmap.Changer
	poison  []poison
	mended  []poison
	began   time.Time

	settling atomic.Bool // the load is over
	auditing atomic.Bool // under load
	gap      gap

	dice       *dice
	books      books
	ingest     pool
	aggregator []*delivery // by stream and mapping
}

// stream is the stream of one table.
type stream struct {
	table   kind.Table
	source  *eventsource.Stream
	virtual atomic.Pointer[virtualstream.Stream]
}

// newSystem makes the tables. Close deletes them.
func newSystem(ctx context.Context, o options) (s *system, err error) {
	s = &system{o: o, began: time.Now(), dice: &dice{random: rand.New(rand.NewPCG(o.Seed, 1))}}
	s.ingest.start = s.startIngest
	s.books = books{report: &s.report, sums: map[string]int64{}, events: map[identity]*event{}}
	if s.rules, err = fold.ParseRules(rules); err != nil {
		return nil, err
	}
	if s.Tables, err = rig.NewTables(ctx, o.Endpoint); err != nil {
		return nil, err
	}
	s.changer = shardmap.NewChanger(s.DB, s.view(), shardmap.ChangerOptions{})
	for _, table := range kind.Tables() {
		if err := s.open(ctx, table); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// open opens a table's stream and makes its mappings' handlers.
func (s *system) open(ctx context.Context, table kind.Table) error {
	source, err := eventsource.OpenStream(ctx, s.DB, dynamolocal.Streams(s.Endpoint, s.Access), s.Names.Table(table))
	if err != nil {
		return err
	}
	of := &stream{table: table, source: source}
	s.streams = append(s.streams, of)
	for i := range mappings {
		s.aggregator = append(s.aggregator, &delivery{system: s, name: fmt.Sprintf("%s-%d", table, i), of: of, containers: pool{start: s.startAggregator}})
	}
	return s.planOn(of, virtualstream.Plan{})
}

func (s *system) view() *shardmap.Map {
	return shardmap.New(s.DB, s.Names.ShardMap, shardmap.Options{})
}

// planOn makes the virtual stream that goes on with a plan.
func (s *system) planOn(of *stream, plan virtualstream.Plan) error {
	virtual, err := virtualstream.New(of.source, virtualstream.Options{Shards: openAtFirst, Seed: s.o.Seed, Spread: s.o.Spread, Plan: plan})
	of.virtual.Store(virtual)
	return err
}

// planAllOn makes the virtual streams that go on with the present plans.
func (s *system) planAllOn() (err error) {
	for _, of := range s.streams {
		err = errors.Join(err, s.planOn(of, of.virtual.Load().Plan()))
	}
	return err
}

// attempts are enough for a good record to get through all faults.
const attempts = 15

// each does something with all mappings at a time.
func (s *system) each(ctx context.Context, do func(context.Context, *eventsource.Mapping) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, handler := range s.aggregator {
		m, err := eventsource.NewMapping(eventsource.MappingOptions{
			Name: handler.name, Source: handler.of.virtual.Load(), Handler: handler,
			Checkpoints: s.DB, CheckpointTable: dynamolocal.CheckpointTable(s.Names), FailureFile: s.FailureFile(handler.name),
			BatchSize: 100, BatchingWindow: 20 * time.Millisecond, TumblingWindow: 2 * time.Second,
			Attempts: attempts, BackOff: time.Millisecond, Bisect: true, PartialFailures: true, Logger: rig.Silent,
		})
		if err != nil {
			return err
		}
		group.Go(func() error { return do(ctx, m) })
	}
	return group.Wait()
}

// consume runs the mappings until ctx ends, killing them now and then. They start
// again from their checkpoints and the virtual streams' plans.
func (s *system) consume(ctx context.Context, kill <-chan struct{}) error {
	for ctx.Err() == nil {
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- s.each(running, func(ctx context.Context, m *eventsource.Mapping) error { return m.Run(ctx) })
		}()
		var err error
		select {
		case err = <-ended:
		case <-ctx.Done():
			err = <-ended
		case <-kill:
			stop()
			err = <-ended
			s.inject(restart)
			err = errors.Join(err, s.planAllOn())
		}
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// load has callers send all increments and events while mappings deliver and things
// happen; in a run with a gap all is repaired then, while mappings still deliver.
func (s *system) load(ctx context.Context) error {
	consuming, stop := context.WithCancel(ctx)
	defer stop()
	kill := make(chan struct{})
	consumers, running := errgroup.WithContext(consuming)
	consumers.Go(func() error { return s.consume(running, kill) })
	err := s.underLoad(running, kill)
	if err == nil && s.o.Gap {
		err = s.repair(running)
	}
	stop()
	if failed := consumers.Wait(); failed != nil {
		return failed // why the load was stopped
	}
	return err
}

// underLoad makes the load, and all that happens meanwhile.
func (s *system) underLoad(ctx context.Context, kill chan<- struct{}) error {
	ctx, calm := context.WithCancel(ctx)
	defer calm()
	around, happening := errgroup.WithContext(ctx)
	around.Go(func() error { return s.upheave(happening, kill) })
	around.Go(func() error { return s.compacting(happening) })
	outage := new(errgroup.Group)
	if s.o.Gap {
		outage.Go(func() error { return s.outage(happening) })
	}
	err := s.call(happening)
	s.settling.Store(true)
	if failed := outage.Wait(); err == nil {
		err = failed
	}
	if err == nil {
		err = s.settle(happening)
	}
	calm()
	if failed := around.Wait(); failed != nil {
		return failed // why the callers were stopped
	}
	return err
}

// settle waits until the mappings have delivered about all, while stream shards
// still end and mappings still die: folds lag behind the load.
func (s *system) settle(ctx context.Context) error {
	for before := -1; before != s.of(batches) && ctx.Err() == nil; {
		before = s.of(batches)
		rig.Sleep(ctx, 300*time.Millisecond)
	}
	return ctx.Err()
}

// quiesce delivers what is left, still with faults, and in the end all batches that
// were kept, once more and without any.
func (s *system) quiesce(ctx context.Context) error {
	if err := s.planAllOn(); err != nil {
		return err
	}
	if err := s.each(ctx, func(ctx context.Context, m *eventsource.Mapping) error { return m.Drain(ctx) }); err != nil {
		return err
	}
	s.dice.calm()
	for _, d := range s.aggregator {
		if err := d.again(ctx); err != nil {
			return err
		}
	}
	return nil
}
