package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/schema"
)

// options are those of one run.
type options struct {
	Endpoint   string // of the engine
	Seed       uint64
	Increments int // to be sent, half of them keyed
	Counters   int // to draw from, 2 or more
	Events     int // to be sent, those sent again included
	Entities   int // to draw from, 2 or more
	Spread     local.Spread
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

// rig is one system with what torments it, on tables of its own.
type rig struct {
	o       options
	db      *dynamodb.Client
	names   schema.Names
	source  *local.Stream
	virtual atomic.Pointer[local.Virtual]
	changer *shardmap.Changer
	dir     string // for the failure file
	poison  []poison
	began   time.Time

	settling atomic.Bool // the load is over
	auditing atomic.Bool // under load
	gap      gap
	mended   []poison

	merged                                       atomic.Int64 // parts of event rollups
	auditFound, rebuilt, rebuiltAtRest, replayed atomic.Int64 // targets

	faults     *dice
	books      *books
	ingest     *pool[*process]
	deliveries atomic.Int64
	batches    atomic.Int64
	sends      atomic.Int64
	writes     atomic.Int64
	folds      atomic.Int64
	aggregator [mappings]*delivery
}

// newRig makes the tables and starts the processes. close deletes the tables.
func newRig(ctx context.Context, o options) (r *rig, err error) {
	access := "f" + rand.Text()
	r = &rig{
		o: o, db: local.DynamoDB(o.Endpoint, access), names: schema.NamesFor(access + "-"),
		faults: newDice(o.Seed), began: time.Now(),
		books: &books{want: map[string]int64{}, events: map[identity]*event{}},
	}
	if r.dir, err = os.MkdirTemp("", "folds"); err != nil {
		return nil, fmt.Errorf("making a folder for failures: %w", err)
	}
	if err := local.CreateTables(ctx, r.db, r.names); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, r.start(ctx, access)
}

func (r *rig) start(ctx context.Context, access string) (err error) {
	if r.source, err = local.OpenStream(ctx, local.Streams(r.o.Endpoint, access), r.names.Items); err != nil {
		return err
	}
	if err := r.planOn(local.VirtualPlan{}); err != nil {
		return err
	}
	r.changer = shardmap.NewChanger(r.db, shardmap.New(r.db, r.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{})
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
func (r *rig) planOn(plan local.VirtualPlan) error {
	virtual, err := local.NewVirtual(r.source, local.VirtualOptions{Shards: 3, Seed: r.o.Seed, Spread: r.o.Spread, Plan: plan})
	r.virtual.Store(virtual)
	return err
}

func (r *rig) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := os.RemoveAll(r.dir)
	for _, t := range local.Tables(r.names) {
		_, failed := r.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &t.Name})
		err = errors.Join(err, failed)
	}
	return err
}

// counter names one; names may hold the separator.
func (r *rig) counter(i int) string { return fmt.Sprintf("c#%d", i) }

// zipf draws a counter.
func (r *rig) zipf(random *mathrand.Rand) uint64 {
	return mathrand.NewZipf(random, 1.1, 1, uint64(r.o.Counters-1)).Uint64()
}

func (r *rig) failureFile(i int) string {
	return filepath.Join(r.dir, fmt.Sprintf("failures-%d.jsonl", i))
}

// mapping makes one of the two that read every stream shard.
func (r *rig) mapping(i int) (*local.Mapping, error) {
	return local.NewMapping(local.MappingOptions{
		Name: fmt.Sprintf("aggregator-%d", i), Source: r.virtual.Load(), Handler: r.aggregator[i],
		Checkpoints: r.db, CheckpointTable: local.CheckpointTable(r.names), FailureFile: r.failureFile(i),
		BatchSize: 100, BatchingWindow: 20 * time.Millisecond, TumblingWindow: 2 * time.Second,
		Attempts: attempts, Bisect: true, PartialFailures: true, BackOff: time.Millisecond, PollInterval: 20 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	})
}

// attempts are enough for a good record to get through all faults.
const attempts = 15

// each does something with both mappings at a time.
func (r *rig) each(ctx context.Context, do func(context.Context, *local.Mapping) error) error {
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
func (r *rig) consume(ctx context.Context, kill <-chan struct{}) error {
	for ctx.Err() == nil {
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- r.each(running, func(ctx context.Context, m *local.Mapping) error { return m.Run(ctx) })
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
			r.faults.count(restart)
			err = errors.Join(err, r.planOn(r.virtual.Load().Plan()))
		}
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}
