// Package rebuild compares summaries with the items that they sum up, and repairs them, while writes and folds go on.
//
//	checker := rebuild.New(rebuild.Options{Names: names, Rollups: true, Repair: true}, client)
//	report, err := checker.Run(ctx, checker.All(rebuild.Range{}), nil)
//	fmt.Println(report.Bad(), report.Findings)
//
// A counter is compared write shard by write shard: an item's rev identifies the state that the summary must have.
//
// An event rollup records only how far each stream shard was folded, so a check must prove
// that the rollup is at rest. It reads the rollup, then the events. If they differ, it writes
// stream markers among the events, waits until the aggregator acknowledges them, and reads
// both again. A rollup that did not change between the readings and still differs is wrong.
//
// A board's period is compared with its index, which lags, and proved in the same way. Its histogram is rebuilt while
// nobody writes to the board. Its top is rebuilt by the aggregator, which rechecks the boards that are noted.
//
// Every repair is conditional on the state that was read, so it never undoes a fold.
//
// An [Eraser] deletes every trace of a base key:
//
//	eraser := rebuild.NewEraser(rebuild.EraserOptions{Options: rebuild.Options{Names: names}}, client)
//	report, err := eraser.Key(ctx, schema.BaseKey{Type: schema.Counter, Name: "page/home"})
//	fmt.Println(report.Deleted, report.Left)
package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client has the DynamoDB calls that a check makes. It must retry failed calls itself.
type Client interface {
	parts.Client
	parts.ProverClient
	shardmap.Client
	client.BatchGetter
	client.Scanner
	client.Updater
}

// Options configure a Checker. Numbers and times are not negative. The first four fields must have the values of the
// deployed functions.
type Options struct {
	Names           schema.Names
	Rollups         bool          // events are rolled up
	EventRetention  time.Duration // the shortest retention that any event was written with; 0 keeps events for ever
	RollupRetention time.Duration // of event rollups; 0 keeps them for ever

	Repair bool // write the figures that a summary should have
	// Lower also repairs an event rollup that has more events than are stored, as after events expired. The rollup then has
	// the stored events only.
	Lower bool
	// afterErase, with Repair, checks counters on all write shards that can exist. It deletes the summaries of boards'
	// periods without entries, except their histograms' sequence numbers.
	afterErase bool

	IndexLag    time.Duration    // upper bound on the lag of the boards' index; default 30 s
	Wait        time.Duration    // how long to wait for folds in flight; 0 doesn't wait, nor does the repair of a counter
	Poll        time.Duration    // between two reads while waiting; default 500 ms
	Concurrency int              // targets at a time; default 32
	ReadUnits   int              // RCU/s that table scans consume at most; default dynamo.ScanUnits
	Now         func() time.Time // default time.Now
}

// Defaults of Options.
const (
	defaultIndexLag    = 30 * time.Second
	defaultPoll        = 500 * time.Millisecond
	defaultConcurrency = 32
)

func (o Options) withDefaults() Options {
	o.IndexLag, o.Poll = cmp.Or(o.IndexLag, defaultIndexLag), cmp.Or(o.Poll, defaultPoll)
	o.Concurrency, o.ReadUnits = cmp.Or(o.Concurrency, defaultConcurrency), cmp.Or(o.ReadUnits, dynamo.ScanUnits)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Checker compares summaries with their items, and repairs them. It is safe for concurrent use.
type Checker struct {
	*tools
	checks map[schema.Summary]summaryCheck // by form of summary
}

// New returns a Checker.
func New(options Options, client Client) *Checker {
	options = options.withDefaults()
	t := &tools{
		o: options, client: client, shards: shardmap.New(client, options.Names.ShardMap, shardmap.Options{}), scanner: dynamo.NewScanner(client, options.ReadUnits),
		prover:  parts.NewProver(parts.ProverOptions{Names: options.Names, Wait: options.Wait, Poll: options.Poll, Now: options.Now}, client),
		rollups: parts.NewEvents(client, options.Names.Rollups, options.Now), cells: parts.NewHistograms(client, options.Names.Rollups, options.Now),
	}
	return &Checker{t, map[schema.Summary]summaryCheck{
		schema.PartialSummary: &counters{t}, schema.RollupSummary: &events{t}, schema.RankingSummary: &rankings{t},
	}}
}

// summaryCheck checks the summaries of one form.
type summaryCheck interface {
	// check compares a target with its items, and repairs it if Options.Repair is set.
	check(ctx context.Context, t schema.Target) (Result, error)
	// targets returns the targets of a name in a range.
	targets(name string, r Range) ([]schema.Target, error)
}

// Targets returns a base key's targets in a range. If a bound is zero, the kind has a default. Targets returns an error
// for a kind without summaries, or a range with too many targets.
func (a *Checker) Targets(base schema.BaseKey, r Range) ([]schema.Target, error) {
	check, known := a.checks[schema.TraitsOf(base.Type).Summary]
	if !known {
		return nil, fmt.Errorf("%s %q has no summary: check a counter, an entity or a board", base.Type, base.Name)
	}
	return check.targets(base.Name, r)
}

// Check checks one target: a counter, an entity's bucket or a board's period. The result has what is wrong with the
// target, also errors of data that can't be read. Check returns errors of DynamoDB, of ctx, and of an unknown kind.
func (a *Checker) Check(ctx context.Context, target schema.Target) (Result, error) {
	check, known := a.checks[schema.TraitsOf(target.Base.Type).Summary]
	if !known {
		return Result{}, fmt.Errorf("%s %q has no summary: check a counter, an entity or a board", target.Base.Type, target.Base.Name)
	}
	r, err := check.check(ctx, target)
	if err != nil && !isCallError(err) {
		r, err = r.with(oneFinding(Unreadable, err.Error())), nil
	}
	r.describe(target)
	return r, err
}

// tools has what the checks of all kinds share.
type tools struct {
	o       Options
	client  Client
	shards  *shardmap.Map
	scanner *dynamo.Scanner
	prover  *parts.Prover
	rollups *parts.Store[parts.Rollup]
	cells   *parts.Store[parts.Histogram]
}

type item = dynamo.Item

// pause waits for Options.Poll, or until ctx ends.
func (t *tools) pause(ctx context.Context) error { return dynamo.WaitFor(ctx, t.o.Poll) }

// entryOf returns a base key's entry in the shard map.
func (t *tools) entryOf(ctx context.Context, base schema.BaseKey) (shardmap.Entry, error) {
	entry, err := t.shards.Read(ctx, base.String())
	if err != nil {
		return entry, fmt.Errorf("reading the shard map entry of %q: %w", base, err)
	}
	return entry, nil
}

// maxReads bounds the concurrent calls for one target.
const maxReads = 16

// concurrently calls do for each i from 0 to n-1, maxReads at a time, and returns the first error.
func concurrently(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
