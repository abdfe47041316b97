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

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/rollup/audit"
	"github.com/hotshard/hotshard/internal/rollup/scan"
	"github.com/hotshard/hotshard/internal/schema"
)

// Client is what an Eraser calls of DynamoDB. It needs retries of its own.
type Client interface {
	audit.Client
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
}

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
	// IndexLag is how old the index of boards may be. Default 30 s.
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
	DefaultSettle     = 30 * time.Second
	DefaultWait       = 30 * time.Second
	DefaultWriteUnits = 250
	defaultPoll       = 500 * time.Millisecond
)

func (o Options) withDefaults() (Options, error) {
	o.Settle, o.Wait = cmp.Or(o.Settle, DefaultSettle), cmp.Or(o.Wait, DefaultWait)
	o.Poll, o.ReadUnits = cmp.Or(o.Poll, defaultPoll), cmp.Or(o.ReadUnits, scan.ReadUnits)
	o.WriteUnits = cmp.Or(o.WriteUnits, DefaultWriteUnits)
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
	if o.Settle < 0 || o.Wait < 0 || o.Poll < 0 {
		return o, fmt.Errorf("erase: settle %v, wait %v, poll %v: want 0 or more", o.Settle, o.Wait, o.Poll)
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
		changer: shardmap.NewChanger(client, view, shardmap.ChangerOptions{}),
	}, nil
}

// Report is what was deleted, or, by a dry run, what there is.
type Report struct {
	// Deleted counts by what it was: see the What constants.
	Deleted map[What]int `json:"deleted"`
	// Kept says what was written meanwhile and is there, as far as it was met.
	Kept []string `json:"kept"`
	// Left says what is not done, why, and what to do about it; mostly, to call again
	// later.
	Left []string `json:"left"`
}

// What is a kind of trace.
type What string

// The kinds.
const (
	Events      What = "events"
	WriteShards What = "write shards" // of a counter
	Entries     What = "entries"      // of a board, with their places in the index
	Sessions    What = "sessions"
	Windows     What = "windows"     // of a limit
	Others      What = "other items" // probes, marks
	Settings    What = "settings"    // of a board
	Summaries   What = "summaries"
	Failures    What = "failures"
	ShardCounts What = "shard counts"
)

// task is the work on one key.
type task struct {
	*Eraser
	base  schema.BaseKey
	begun time.Time
	swept time.Time // the end of the last sweep

	mu     sync.Mutex
	report Report
	again  bool            // something is left that this has to be called again for
	places map[string]bool // of an entity: partition keys with a note
	notes  map[key]bool    // those notes
}

type key struct{ pk, sk string }

// Key erases a base key. The report is right also beside an error, which is one of
// DynamoDB or ctx.
func (e *Eraser) Key(ctx context.Context, base schema.BaseKey) (*Report, error) {
	t := e.task(base)
	if err := t.erase(ctx); err != nil {
		return &t.report, fmt.Errorf("deleting %s %q: %w", base.Type, base.Name, err)
	}
	return &t.report, nil
}

func (e *Eraser) task(base schema.BaseKey) *task {
	return &task{
		Eraser: e, base: base, begun: e.o.Now(), report: Report{Deleted: map[What]int{}, Kept: []string{}, Left: []string{}},
		places: map[string]bool{}, notes: map[key]bool{},
	}
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
	if err := t.summaries(ctx, entry); err != nil || t.again { // the map still says where to look
		return err
	}
	if err := t.failures(ctx); err != nil {
		return err
	}
	if t.base.Type == schema.Board {
		if err := t.dropSettings(ctx); err != nil {
			return err
		}
	}
	return t.forget(ctx)
}

// summaries takes out of the rollups table what it has of the key.
func (t *task) summaries(ctx context.Context, entry shardmap.Entry) error {
	switch t.base.Type {
	case schema.Counter:
		return t.bury(ctx)
	case schema.Entity:
		return t.retract(ctx, entry.Most())
	case schema.Board:
		return t.clearBoard(ctx)
	}
	return nil
}

// left reports what this has to be called again for.
func (t *task) left(format string, args ...any) {
	t.mend(format, args...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again = true
}

// mend reports what is left and is done by other means.
func (t *task) mend(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Left = append(t.report.Left, fmt.Sprintf(format, args...))
}

// kept reports what was written meanwhile.
func (t *task) kept(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report.Kept = append(t.report.Kept, fmt.Sprintf(format, args...))
}

func (t *task) deleted(what What, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n > 0 {
		t.report.Deleted[what] += n
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
