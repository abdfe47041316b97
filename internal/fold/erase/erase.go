// Package erase deletes every trace of a base key: its items on all write shards that ever existed,
// their rows in the index, its summaries and their failures, probes, and its shard count with the
// history.
//
//	eraser := erase.New(erase.Options{Names: names}, client)
//	report, err := eraser.Key(ctx, schema.BaseKey{Type: schema.Counter, Name: "page/home"})
//	fmt.Println(report.Deleted, report.Left)
//
// Writes and folds may go on. If the report has nothing Left, all items that were written before the
// call are deleted. An item that is written during the call is deleted if the call meets it; otherwise
// it is kept, and counted in the summaries. A call may be killed and repeated: it depends only on
// stored items, and deletes those that show where to look last.
//
// Some items stay for a while, so that redelivered records bring nothing back, or because other keys
// share them: docs/delete.md lists them.
package erase

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client has the DynamoDB calls of an Eraser. The client must retry by itself.
type Client interface{ rebuild.Client }

// Options configure an Eraser. Numbers and times are not negative.
type Options struct {
	Names schema.Names
	// Settle is how long after a change of the shard count requests may still use the old one: the
	// functions' longest deadline, 25 s, the age of their views of the shard map, 1 s by default, and
	// 2 s for clocks that differ. Default 30 s. The eraser waits once, for a key that has or had more
	// than one write shard.
	Settle time.Duration
	// Wait is the time that folds in flight have to arrive: longer than the events' batching window. Default 90 s.
	Wait time.Duration
	// IndexLag bounds the lag of the boards' and sessions' indexes. Default 30 s.
	IndexLag time.Duration
	// ReadUnits bounds the RCU/s of scans. Default dynamo.ScanUnits.
	ReadUnits int
	// WriteUnits bounds the WCU/s of deletes, those of the index included. Default 250: a quarter
	// of a partition's.
	WriteUnits int
	// Poll is the time between two reads while waiting. Default 500 ms.
	Poll time.Duration
	// DryRun counts the traces and deletes nothing.
	DryRun bool
	// Progress receives the number of items that were read, or deleted, from several goroutines.
	Progress func(n int)
	Now      func() time.Time // default time.Now
	Commands display.Commands // for the command lines in the report
}

// Defaults of Options.
const (
	defaultSettle     = 30 * time.Second
	defaultWait       = 90 * time.Second
	defaultIndexLag   = 30 * time.Second
	defaultWriteUnits = 250
	defaultPoll       = 500 * time.Millisecond
)

// maxAudits bounds the summaries that are emptied at a time.
const maxAudits = 8

func (o Options) withDefaults() Options {
	o.Settle, o.Wait = cmp.Or(o.Settle, defaultSettle), cmp.Or(o.Wait, defaultWait)
	o.IndexLag = cmp.Or(o.IndexLag, defaultIndexLag)
	o.Poll, o.ReadUnits = cmp.Or(o.Poll, defaultPoll), cmp.Or(o.ReadUnits, dynamo.ScanUnits)
	o.WriteUnits = cmp.Or(o.WriteUnits, defaultWriteUnits)
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Eraser erases base keys. It is safe for concurrent use.
type Eraser struct {
	o       Options
	client  Client
	scanner *dynamo.Scanner
	writes  *dynamo.Pace
	auditor *rebuild.Checker
	rollups *parts.Store[parts.Rollup]
	marker  *parts.Marker
	changer *shardmap.Changer
}

// New returns an Eraser.
func New(o Options, client Client) *Eraser {
	o = o.withDefaults()
	auditor := rebuild.New(rebuild.Options{
		Names: o.Names, Repair: true, Gone: true, Wait: o.Wait, Poll: o.Poll, Now: o.Now, IndexLag: o.IndexLag,
		ReadUnits: o.ReadUnits, Concurrency: maxAudits,
	}, client)
	view := shardmap.New(client, o.Names.ShardMap, shardmap.Options{})
	return &Eraser{
		o: o, client: client, scanner: dynamo.NewScanner(client, o.ReadUnits), writes: dynamo.NewPace(o.WriteUnits), auditor: auditor,
		rollups: parts.NewEvents(client, o.Names.Rollups, o.Now),
		marker:  parts.NewMarker(parts.MarkerOptions{Names: o.Names, Wait: o.Wait, Poll: o.Poll, Now: o.Now}, client),
		changer: shardmap.NewChanger(client, view, shardmap.ChangerOptions{Clock: o.Now}),
	}
}

// task is the work on one key.
type task struct {
	*Eraser
	*tally
	base   schema.BaseKey
	begun  time.Time
	traces traces
}

// tracesOf has the traces of each kind of key.
var tracesOf = map[schema.Kind]func(*task) traces{
	schema.Counter: func(t *task) traces { return counter{plain{t}} },
	schema.Event:   func(t *task) traces { return &entity{plain: plain{t}, days: days{}} },
	schema.Board:   func(t *task) traces { return leaderboard{plain{t}} },
	schema.Session: func(t *task) traces { return group{plain{t}} },
	schema.Limit:   func(t *task) traces { return plain{t} },
}

// traces finds and deletes the items of keys of one kind.
type traces interface {
	// partition returns the query for all items of a write shard. It returns nil if the table must be
	// scanned, because the partition keys have a day, a player or a window that is unknown.
	partition(writeShard int) *dynamodb.QueryInput
	// match returns the kind of trace that an item of the items table is; ok is false for items of
	// other keys.
	classify(k key) (what What, ok bool)
	// dropped is called after an item was deleted, with the deleted item.
	dropped(ctx context.Context, what What, k key, old item) error
	// settle removes deleted items from the key's summaries, once all records of the deletes are folded. If it
	// can't prove that, it adds to what is left.
	settle(ctx context.Context) error
	// last deletes the items that show that something may be left.
	last(ctx context.Context) error
}

type (
	key  struct{ pk, sk string }
	item = dynamo.Item
)

func keyOf(it item) key {
	return key{dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)}
}

// Key erases a base key. The report is also right if Key returns an error, which is DynamoDB's or ctx's.
func (e *Eraser) Key(ctx context.Context, base schema.BaseKey) (*Report, error) {
	t := &task{Eraser: e, tally: newTally(), base: base, begun: e.o.Now()}
	of := tracesOf[base.Type]
	if of == nil {
		return &t.report, fmt.Errorf("deleting %s %q: there is no such kind", base.Type, base.Name)
	}
	t.traces = of(t)
	if err := t.erase(ctx); err != nil {
		return &t.report, fmt.Errorf("deleting %s %q: %w", base.Type, base.Name, err)
	}
	return &t.report, nil
}

func (t *task) erase(ctx context.Context) error {
	if t.o.DryRun {
		return t.count(ctx)
	}
	if err := t.sweep(ctx); err != nil {
		return err
	}
	entry, err := t.unshard(ctx)
	if err != nil {
		return err
	}
	if entry.Version > 0 { // what was written by the old count
		if err := t.sweep(ctx); err != nil {
			return err
		}
	}
	if err := t.traces.settle(ctx); err != nil || t.again { // the map still says where to look
		return err
	}
	if err := t.failures(ctx); err != nil {
		return err
	}
	if err := t.traces.last(ctx); err != nil {
		return err
	}
	return t.forget(ctx)
}

// count counts the traces, for a dry run.
func (t *task) count(ctx context.Context) error {
	if err := t.findItems(ctx, func(what What, _ key) error {
		t.deleted(what, 1)
		return nil
	}); err != nil {
		return err
	}
	entry, err := t.changer.Read(ctx, t.base.String())
	if err != nil {
		return err
	}
	if entry.Max > 0 {
		t.deleted(ShardCounts, 1)
	}
	failures, err := t.auditor.FailuresOf(ctx, t.base)
	if err != nil {
		return err
	}
	t.deleted(Failures, len(failures))
	if err := t.traces.last(ctx); err != nil {
		return err
	}
	if schema.TraitsOf(t.base.Type).Summary == schema.NoSummary {
		return nil
	}
	return t.auditor.Stored(t.base)(ctx, func(schema.Target) error { t.deleted(Summaries, 1); return nil })
}
