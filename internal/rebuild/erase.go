package rebuild

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// EraserOptions configure an Eraser. Numbers and times are not negative.
type EraserOptions struct {
	// Options has Names, Wait (by default 90 s), IndexLag, ReadUnits, Poll and Now. Its other fields are not used.
	Options
	// Settle is how long after a change of the shard count requests may still use the old one: the functions' longest
	// deadline, 25 s, the age of their views of the shard map, 1 s by default, and 2 s for clocks that differ. Default
	// 30 s. The eraser waits once, for a key that has or had more than one write shard.
	Settle time.Duration
	// WriteUnits bounds the WCU/s of deletes, with the WCU/s of their indexes. Default 250: a quarter of a partition's.
	WriteUnits int
	// Progress is called with a number of items just read or deleted, or 1 for a checked summary, from several
	// goroutines. It may be nil.
	Progress func(n int)
	Commands display.Commands // for the command lines in the report
}

// Defaults of EraserOptions.
const (
	defaultSettle     = 30 * time.Second
	defaultWait       = 90 * time.Second // longer than the events' batching window
	defaultWriteUnits = 250
)

// maxAudits bounds the summaries that are checked and emptied at a time.
const maxAudits = 8

// Eraser deletes every trace of a base key: its items on all write shards that ever existed, their rows in the index, its
// summaries and their failures, probes, and its shard count with the history. It is safe for concurrent use.
//
// Writes and folds may go on. If the report has nothing Left, all items that were written before the call are deleted.
// An item that is written during the call may be kept, and is then counted in the summaries. A call that was killed may
// be repeated.
//
// Some items stay for a while, so that redelivered records bring nothing back, or because other keys share them:
// docs/delete.md lists them.
type Eraser struct {
	*tools
	checker *Checker
	options EraserOptions
	writes  *dynamo.Pace
	changer *shardmap.Changer
}

// NewEraser returns an Eraser.
func NewEraser(options EraserOptions, client Client) *Eraser {
	options.Wait, options.Settle = cmp.Or(options.Wait, defaultWait), cmp.Or(options.Settle, defaultSettle)
	options.WriteUnits = cmp.Or(options.WriteUnits, defaultWriteUnits)
	options.Concurrency, options.Repair, options.afterErase = maxAudits, true, true // of the audits
	if options.Progress == nil {
		options.Progress = func(int) {}
	}
	checker := New(options.Options, client)
	return &Eraser{
		tools: checker.tools, checker: checker, options: options, writes: dynamo.NewPace(options.WriteUnits),
		changer: shardmap.NewChanger(client, checker.shards, shardmap.ChangerOptions{Clock: checker.o.Now}),
	}
}

// task is the delete of one key.
type task struct {
	*Eraser
	*tally
	base   schema.BaseKey
	begun  time.Time
	traces keyTraces
}

// newTraces has the functions that return the keyTraces of a task, by kind of key.
var newTraces = map[schema.Kind]func(*task) keyTraces{
	schema.Counter: func(t *task) keyTraces { return counterTraces{plainTraces{t}} },
	schema.Event:   func(t *task) keyTraces { return &entityTraces{plainTraces: plainTraces{t}, days: days{}} },
	schema.Board:   func(t *task) keyTraces { return boardTraces{plainTraces{t}} },
	schema.Session: func(t *task) keyTraces { return sessionTraces{plainTraces{t}} },
	schema.Limit:   func(t *task) keyTraces { return plainTraces{t} },
}

// keyTraces finds and deletes the items of keys of one kind.
type keyTraces interface {
	// partitionQuery returns the query for all items of a write shard. It returns nil if the table must be
	// scanned, because the partition keys have a day, a player or a window that is unknown.
	partitionQuery(writeShard int) *dynamodb.QueryInput
	// classify returns what an item is counted as in the report; ok is false for items of other keys.
	classify(k itemKey) (what Trace, ok bool)
	// afterDelete is called after an item was deleted, with the deleted item.
	afterDelete(ctx context.Context, what Trace, k itemKey, old item) error
	// cleanSummaries removes the deleted items from the key's summaries, after all records of the deletes are folded. If it
	// can't prove that they are, it adds a text to the report's Left.
	cleanSummaries(ctx context.Context) error
	// deleteLast deletes items that show, after a call that was killed, that something may be left.
	deleteLast(ctx context.Context) error
}

// itemKey is an item's primary key.
type itemKey struct{ pk, sk string }

func keyOf(it item) itemKey {
	return itemKey{dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)}
}

// Key deletes every trace of a base key. With an error, which is DynamoDB's or ctx's or of an unknown kind, the report
// has what was deleted.
func (e *Eraser) Key(ctx context.Context, base schema.BaseKey) (*Erased, error) {
	t := &task{Eraser: e, tally: newTally(), base: base, begun: e.o.Now()}
	tracesOf := newTraces[base.Type]
	if tracesOf == nil {
		return &t.report, fmt.Errorf("deleting %s %q: there is no such kind", base.Type, base.Name)
	}
	t.traces = tracesOf(t)
	if err := t.erase(ctx); err != nil {
		return &t.report, fmt.Errorf("deleting %s %q: %w", base.Type, base.Name, err)
	}
	return &t.report, nil
}

// erase deletes the items, then the summaries and failures, and last the entry in the shard map. If another run is
// needed, it keeps the failures and the entry.
func (t *task) erase(ctx context.Context) error {
	if err := t.sweep(ctx); err != nil {
		return err
	}
	entry, err := t.unshard(ctx)
	if err != nil {
		return err
	}
	if entry.Version > 0 { // delete what was written with the old count
		if err := t.sweep(ctx); err != nil {
			return err
		}
	}
	if err := t.traces.cleanSummaries(ctx); err != nil || t.needsRerun { // the next run needs the shard map
		return err
	}
	if err := t.deleteFailures(ctx); err != nil {
		return err
	}
	if err := t.traces.deleteLast(ctx); err != nil {
		return err
	}
	return t.deleteEntry(ctx)
}
