// Package erase deletes every trace of a base key: its items on all write shards that
// there ever were, their places in the index, its summaries, the failures noted of
// them, what writers saw of it, and its shard count with the changes of that.
//
//	eraser, err := erase.New(erase.Options{Names: names}, client)
//	report, err := eraser.Key(ctx, schema.BaseKey{Type: schema.Counter, Name: "page/home"})
//	fmt.Println(report.Deleted, report.Left)
//
// Writes and folds may go on. What was written before it began is gone when it has ended
// with nothing left. What is written meanwhile is deleted as far as it is met; the rest
// is kept, and counted in the summaries. It may be ended anywhere and called again: what
// it does is done from what is there, and what tells where to look is deleted last.
//
// What stays for a while is what keeps records that come again from bringing back what
// is gone, and what other keys share: docs/delete.md lists it.
package erase

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/audit"
	"github.com/hotshard/hotshard/internal/rollup/marks"
	"github.com/hotshard/hotshard/internal/rollup/scan"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client is what an Eraser calls of DynamoDB. It needs retries of its own.
type Client interface{ audit.Client }

// Options say how a key is erased.
type Options struct {
	Names schema.Names
	// Settle is how long requests may go on that began before all processes knew of
	// a change: the functions' longest deadline, 25 s, the age of their views of the
	// shard map, 1 s or what is set, and 2 s for clocks that differ. Default 30 s. It is waited once,
	// for a key that has or had more than one write shard.
	Settle time.Duration
	// Wait is for folds that may be on their way. Default 30 s.
	Wait time.Duration
	// IndexLag is how old the indexes of boards and sessions may be. Default 30 s.
	IndexLag time.Duration
	// ReadUnits is how many read units a second scans take at most. Default
	// scan.ReadUnits.
	ReadUnits int
	// WriteUnits is how many write units a second the deletion of items takes at most,
	// those of the index among them. Default 250: a quarter of what a partition takes.
	WriteUnits int
	// Poll is between two looks while waiting. Default 500 ms.
	Poll time.Duration
	// DryRun counts, and deletes nothing.
	DryRun bool
	// Progress is told of items that were looked at, or deleted, by many goroutines.
	Progress func(n int)
	Now      func() time.Time // default time.Now
}

// Defaults of Options.
const (
	defaultSettle     = 30 * time.Second
	defaultWait       = 30 * time.Second
	defaultIndexLag   = 30 * time.Second
	defaultWriteUnits = 250
	defaultPoll       = 500 * time.Millisecond
)

func (o Options) withDefaults() (Options, error) {
	o.Settle, o.Wait = cmp.Or(o.Settle, defaultSettle), cmp.Or(o.Wait, defaultWait)
	o.IndexLag = cmp.Or(o.IndexLag, defaultIndexLag)
	o.Poll, o.ReadUnits = cmp.Or(o.Poll, defaultPoll), cmp.Or(o.ReadUnits, scan.ReadUnits)
	o.WriteUnits = cmp.Or(o.WriteUnits, defaultWriteUnits)
	if o.Progress == nil {
		o.Progress = func(int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Names.Items == "" || o.Names.Rollups == "" || o.Names.ShardMap == "" {
		return o, errors.New("erase: Names has not all tables")
	}
	if o.ReadUnits < 0 || o.WriteUnits < 0 {
		return o, fmt.Errorf("erase: %d read units, %d write units: want 1 or more", o.ReadUnits, o.WriteUnits)
	}
	if o.Settle < 0 || o.Wait < 0 || o.Poll < 0 || o.IndexLag < 0 {
		return o, fmt.Errorf("erase: settle %v, wait %v, poll %v, index lag %v: want 0 or more", o.Settle, o.Wait, o.Poll, o.IndexLag)
	}
	return o, nil
}

// Eraser erases base keys. It is safe for concurrent use.
type Eraser struct {
	o       Options
	client  Client
	scanner *scan.Scanner
	writes  *scan.Pace
	auditor *audit.Auditor
	marker  *marks.Marker
	changer *shardmap.Changer
}

// New returns an Eraser, or an error that says what is wrong with the options.
func New(o Options, client Client) (*Eraser, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	auditor, err := audit.New(audit.Options{
		Names: o.Names, Wait: o.Wait, Poll: o.Poll, Now: o.Now, IndexLag: o.IndexLag, Repair: true,
	}, client)
	if err != nil {
		return nil, err
	}
	view := shardmap.New(client, o.Names.ShardMap, shardmap.Options{})
	return &Eraser{
		o: o, client: client, scanner: scan.New(client, o.ReadUnits), writes: scan.NewPace(o.WriteUnits), auditor: auditor,
		marker:  marks.New(marks.Options{Names: o.Names, Now: o.Now}, client),
		changer: shardmap.NewChanger(client, view, shardmap.ChangerOptions{}),
	}, nil
}

// task is the work on one key.
type task struct {
	*Eraser
	*tally
	base   schema.BaseKey
	begun  time.Time
	swept  time.Time // the end of the last sweep
	traces traces

	scanning sync.Mutex // held while a page of summaries is looked at
}

// traces are what keys of one type leave.
type traces interface {
	// match says what an item of the items table is to the key; ok is false for those of
	// other keys.
	match(k key) (what What, ok bool)
	// dropping is called before an item is deleted. Spare is that it is not to be.
	dropping(ctx context.Context, what What, k key) (spare bool, err error)
	// dropped is called after an item was deleted, with what it was.
	dropped(ctx context.Context, what What, k key, old item) error
	// summaries takes out of the rollups table what it has of a key that is swept, and had so
	// many write shards.
	summaries(ctx context.Context, writeShards int) error
	// last deletes what tells that something may be left.
	last(ctx context.Context) error
}

type (
	key  struct{ pk, sk string }
	item = dynamo.Item
)

func keyOf(it item) key {
	return key{dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)}
}

// Key erases a base key. The report is right also beside an error, which is one of
// DynamoDB or ctx.
func (e *Eraser) Key(ctx context.Context, base schema.BaseKey) (*Report, error) {
	t := &task{Eraser: e, tally: newTally(), base: base, begun: e.o.Now()}
	t.traces = map[schema.Type]traces{
		schema.Counter: counter{plain{t}}, schema.Board: leaderboard{plain{t}},
		schema.Entity: &entity{plain: plain{t}, noted: map[string]bool{}, notes: map[key]bool{}},
	}[base.Type]
	if t.traces == nil {
		t.traces = plain{t}
	}
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
	if err := t.traces.summaries(ctx, entry.Most()); err != nil || t.again { // the map still says where to look
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

// count counts what there is.
func (t *task) count(ctx context.Context) error {
	if err := t.find(ctx, func(what What, k key) error {
		if !marks.WasLeft(k.sk) {
			t.deleted(what, 1)
		}
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
	return t.eachSummary(ctx, func(schema.Target) { t.deleted(Summaries, 1) })
}
