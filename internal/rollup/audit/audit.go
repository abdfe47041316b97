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
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/histogram"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/rollup/scan"
	"github.com/hotshard/hotshard/internal/schema"
)

// Client is what an audit calls of DynamoDB. It needs retries of its own.
type Client interface {
	parts.Client
	shardmap.Client
	scan.Client
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
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
	if o.IndexLag == 0 {
		o.IndexLag = defaultIndexLag
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Concurrency == 0 {
		o.Concurrency = defaultConcurrency
	}
	o.ReadUnits = cmp.Or(o.ReadUnits, scan.ReadUnits)
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
	o      Options
	client Client
	shards *shardmap.Map
	store  *parts.Store
	cells  *histogram.Store

	scanner *scan.Scanner
}

// New returns an Auditor, or an error that lists all faults of the options.
func New(o Options, client Client) (*Auditor, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	return &Auditor{
		o: o, client: client, shards: shardmap.New(client, o.Names.ShardMap, shardmap.Options{}),
		store: parts.New(client, o.Names.Rollups, o.RollupRetention, o.Now),
		cells: histogram.New(client, o.Names.Rollups, o.Now), scanner: scan.New(client, o.ReadUnits),
	}, nil
}

// maxRounds bounds how often the audit of one target starts over because it has
// changed meanwhile.
const maxRounds = 6

// hasRule tells whether the rules would make an event rollup.
func (a *Auditor) hasRule(t schema.Target) bool {
	width, ok := a.o.Rules.Bucket(t.Base.Name)
	return ok && width == t.Bucket
}

// Check audits one target: a counter (whatever its partial), an entity's bucket or a
// board's period.
// What is wrong with the target is in the result; an error is about DynamoDB or ctx,
// and the target was then not audited to its end.
func (a *Auditor) Check(ctx context.Context, t schema.Target) (Result, error) {
	var r Result
	var err error
	switch {
	case t.Base.Type == schema.Counter:
		r, err = a.counter(ctx, t.Base.Name)
	case t.Base.Type == schema.Board:
		r, err = a.board(ctx, standing{t.Base.Name, t.Period})
	case !a.hasRule(t):
		r = finding(NoRule, fmt.Sprintf("no rule rolls up its events by the %s", t.Bucket))
	default:
		r, err = a.bucket(ctx, bucketOf(t))
	}
	for i := range r.Findings {
		r.Findings[i].describe(t)
	}
	return r, err
}

// pause waits until the next look, or until ctx ends.
func (a *Auditor) pause(ctx context.Context) error {
	timer := time.NewTimer(a.o.Poll)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type item = map[string]types.AttributeValue

// get reads an item consistently; nil without one.
func (a *Auditor) get(ctx context.Context, table, pk, sk string) (item, error) {
	consistent := true
	out, err := a.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: attribute.Key(pk, sk), ConsistentRead: &consistent,
	})
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", pk, err)
	}
	return out.Item, nil
}
