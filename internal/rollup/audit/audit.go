// Package audit compares summaries with the items that they sum up, and repairs
// them, while writes and folds go on.
//
//	auditor, err := audit.New(audit.Options{Names: names, Rules: rules, Repair: true}, client)
//	report, err := auditor.Run(ctx, auditor.All(audit.Range{}), nil)
//	fmt.Println(report.Bad(), report.Findings)
//
// A counter is compared write shard by write shard: an item's rev says which of its
// states a summary has to have. An event rollup says only how far each stream shard
// has been folded, so that an audit has to prove that what it compares is at rest:
// it reads the rollup, then the events; if they differ it puts marks among the
// events, waits until those have come through the stream, and reads the rollup
// and the events again. What has not changed between the two readings, and still
// differs from the events, is wrong.
//
// A board's period is compared by its index, which lags, and proved in the same way:
// its histogram is made anew while nobody writes to the board, and its top by the
// aggregator, which looks at what is noted.
//
// Every repair is conditional on what was read, so that it never undoes a fold.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/marks"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/rollup/scan"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client is what an audit calls of DynamoDB. It needs retries of its own.
type Client interface {
	parts.Client
	marks.Client
	shardmap.Client
	dynamo.BatchGetter
	dynamo.Scanner
	dynamo.Updater
}

// Options say what is audited, and how. The first four must be those of the
// functions.
type Options struct {
	Names           schema.Names
	Rules           rollup.Rules  // of the event rollups
	EventRetention  time.Duration // of events; 0 is for ever. The shortest that any of them was written with
	RollupRetention time.Duration // of event rollups; 0 is for ever

	Repair bool // write what a summary should have
	// Fewer repairs also an event rollup that has more events than there are items.
	// Events may have been deleted, or have expired: a repair then forgets them.
	Fewer bool
	// Eager repairs a counter's summary without waiting for folds that may be on
	// their way. It is as exact, and quicker where many are behind.
	Eager       bool
	IndexLag    time.Duration    // the index of boards is never older than this; default 30 s
	Wait        time.Duration    // for folds that may be on their way; 0 doesn't wait
	Poll        time.Duration    // between two looks while waiting; default 500 ms
	Concurrency int              // targets at a time; default 32
	ReadUnits   int              // a second, that scans of tables take at most; default scan.ReadUnits
	Now         func() time.Time // default time.Now
}

// Defaults of Options.
const (
	defaultIndexLag    = 30 * time.Second
	defaultPoll        = 500 * time.Millisecond
	defaultConcurrency = 32
)

// withDefaults returns the options with their defaults, or all that is wrong with
// them.
func (o Options) withDefaults() (Options, error) {
	o.IndexLag, o.Poll = cmp.Or(o.IndexLag, defaultIndexLag), cmp.Or(o.Poll, defaultPoll)
	o.Concurrency, o.ReadUnits = cmp.Or(o.Concurrency, defaultConcurrency), cmp.Or(o.ReadUnits, scan.ReadUnits)
	if o.Now == nil {
		o.Now = time.Now
	}
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(o.Names.Items != "" && o.Names.Rollups != "" && o.Names.ShardMap != "", "Names has not all tables")
	check(o.EventRetention >= 0, "EventRetention is %v: want 0 or more", o.EventRetention)
	check(o.RollupRetention >= 0, "RollupRetention is %v: want 0 or more", o.RollupRetention)
	check(o.IndexLag >= 0, "IndexLag is %v: want 0 or more", o.IndexLag)
	check(o.Wait >= 0, "Wait is %v: want 0 or more", o.Wait)
	check(o.Poll > 0, "Poll is %v: want more than 0", o.Poll)
	check(o.Concurrency > 0, "Concurrency is %d: want 1 or more", o.Concurrency)
	check(o.ReadUnits > 0, "ReadUnits is %d: want 1 or more", o.ReadUnits)
	return o, errors.Join(faults...)
}

// Auditor compares and repairs. It is safe for concurrent use.
type Auditor struct {
	*tools
	counters *counters
	events   *events
	boards   *rankings
	kinds    map[schema.Type]kind // the same
	scanner  *scan.Scanner
}

// New returns an Auditor, or an error that lists all faults of the options.
func New(o Options, client Client) (*Auditor, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	t := &tools{
		o: o, client: client, shards: shardmap.New(client, o.Names.ShardMap, shardmap.Options{}),
		marker: marks.New(marks.Options{Names: o.Names, Wait: o.Wait, Poll: o.Poll, Now: o.Now}, client),
	}
	a := &Auditor{
		tools: t, counters: &counters{t}, scanner: scan.New(client, o.ReadUnits),
		events: &events{t, parts.NewEvents(client, o.Names.Rollups, o.Now)},
		boards: &rankings{t, parts.NewHistograms(client, o.Names.Rollups, o.Now)},
	}
	a.kinds = map[schema.Type]kind{schema.Counter: a.counters, schema.Entity: a.events, schema.Board: a.boards}
	return a, nil
}

// kind is one of counters, events and boards.
type kind interface {
	// check compares a target with its items, and repairs it if that is asked for.
	check(ctx context.Context, t schema.Target) (Result, error)
}

// Check audits one target: a counter (whatever its partial), an entity's bucket or a
// board's period.
// What is wrong with the target is in the result; an error is about DynamoDB or ctx,
// and the target was then not audited to its end.
func (a *Auditor) Check(ctx context.Context, t schema.Target) (Result, error) {
	kind, known := a.kinds[t.Base.Type]
	if !known {
		return Result{}, fmt.Errorf("audit: there are no summaries of type %q", t.Base.Type)
	}
	r, err := kind.check(ctx, t)
	r.describe(t)
	return r, err
}

// tools are what all kinds are audited with.
type tools struct {
	o      Options
	client Client
	shards *shardmap.Map
	marker *marks.Marker
}

type item = dynamo.Item

// pause waits until the next look, or until ctx ends.
func (t *tools) pause(ctx context.Context) error { return scan.Wait(ctx, t.o.Poll) }

// update makes an update; refused is that its condition failed.
func (t *tools) update(ctx context.Context, in *dynamodb.UpdateItemInput) (refused bool, err error) {
	_, err = t.client.UpdateItem(ctx, in)
	_, refused = dynamo.ConditionFailed(err)
	if refused {
		return true, nil
	}
	return false, err
}

// mostShards is how many write shards a base key ever had.
func (t *tools) mostShards(ctx context.Context, base schema.BaseKey) (int, error) {
	entry, err := t.shards.Read(ctx, base.String())
	if err != nil {
		return 0, fmt.Errorf("the shard map: %w", err)
	}
	return entry.Most(), nil
}

// maxReads bounds the calls under way for one target.
const maxReads = 16

// eachOf does something for the numbers below n, some at a time.
func eachOf(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}
