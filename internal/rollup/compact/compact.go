// Package compact is the scheduled task that keeps summaries small. It goes through
// the rollups table, once a day, and
//
//   - merges the parts of event rollups and of boards' histograms into which nothing
//     was folded for 48 hours: a stream's shards come and go, and each leaves a part
//     behind;
//   - removes, two days later, what counters' summaries keep of write shards that
//     were removed.
//
// A run does a part of that, and leaves in the table how far it came. By default 24
// runs of five minutes read up to 11 GB: in a larger table, or where so much is to be
// merged that 100 write units a second are not enough, a round takes longer than a
// day.
//
//	compactor, err := compact.New(options, client, log, time.Now)
//	answer, err := compactor.Run(ctx) // {"buckets":12,"merged":70,"tombstones":3,"done":false}
//
// Folds go on meanwhile. All that is done is conditional on what was read and is done
// at once or not at all, so a run may end anywhere, and two may run at a time.
package compact

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/board"
	"github.com/hotshard/hotshard/internal/rollup/measures"
	"github.com/hotshard/hotshard/internal/rollup/parts"
)

// TaskName is what [Task] names.
const TaskName = "compact"

// Task is the payload that a schedule hands to the aggregator every [Interval]. The
// answer is an [Answer] as JSON.
const Task = `{"task":"` + TaskName + `"}`

// Interval is how often the task is to run.
const Interval = time.Hour

const (
	roundEvery = 24 * time.Hour // at most so often the table is gone through
	rest       = 48 * time.Hour // after its last fold a part, or a tombstone, is left alone
)

// Client is what the task calls of DynamoDB.
type Client interface {
	parts.Client
	dynamo.Scanner
	dynamo.Getter
	dynamo.Putter
	dynamo.Updater
	dynamo.Deleter
}

// Options say what to compact, and how much of it at a time.
type Options struct {
	RollupsTable string        // required
	ItemsTable   string        // "" leaves tombstones as they are
	Retention    time.Duration // of event rollups; 0 is for ever

	// Budget bounds a run, beside three quarters of the time that its context has
	// left. 0 is 5 minutes.
	Budget time.Duration
	// ReadUnits is how many read units a second the scan takes at most. 0 is 200: it
	// shares partitions with folds' and readers' summaries, which have 3,000 each.
	ReadUnits int
	// WriteUnits is how many write units a second merging takes at most. 0 is 100:
	// all parts of an entity's month have one partition key, which folds write to.
	WriteUnits int
	// PageItems is how many items a page of the scan has. 0 is 500.
	PageItems int32
}

// Compactor runs the task. It is safe for concurrent use.
type Compactor struct {
	options Options
	client  Client
	events  *parts.Store[measures.Part]
	cells   *parts.Store[board.Histogram]
	log     *slog.Logger
	now     func() time.Time
}

// New returns a Compactor, or an error that lists all faults of the options.
func New(options Options, client Client, log *slog.Logger, now func() time.Time) (*Compactor, error) {
	var faults []error
	if options.RollupsTable == "" {
		faults = append(faults, errors.New("compact: the rollups table has no name"))
	}
	if options.Retention < 0 || options.Budget < 0 || options.ReadUnits < 0 || options.WriteUnits < 0 || options.PageItems < 0 {
		faults = append(faults, fmt.Errorf("compact: %+v: want 0 or more of each", options))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	options.Budget, options.PageItems = cmp.Or(options.Budget, 5*time.Minute), cmp.Or(options.PageItems, 500)
	options.ReadUnits, options.WriteUnits = cmp.Or(options.ReadUnits, 200), cmp.Or(options.WriteUnits, 100)
	return &Compactor{
		options: options, client: client, log: log, now: now,
		events: parts.NewEvents(client, options.RollupsTable, now), cells: parts.NewHistograms(client, options.RollupsTable, now),
	}, nil
}

// Answer is what a run did.
type Answer struct {
	Buckets    int  `json:"buckets"`          // event rollups of which parts were merged
	Boards     int  `json:"boards,omitempty"` // histograms, likewise: one a board's period
	Merged     int  `json:"merged"`           // parts that were
	Tombstones int  `json:"tombstones"`       // write shards removed from counters' summaries
	Failed     int  `json:"failed,omitempty"` // summaries left as they are because of an error, which is logged
	Done       bool `json:"done"`             // the round is complete: there is nothing to do until the next
}

// Run goes on with a round, or starts one if the last began a day ago or more. A
// summary that can't be compacted is logged and left for the next round. An error
// is one of going through the table: the next run goes on where this one was.
func (c *Compactor) Run(ctx context.Context) (answer Answer, err error) {
	begun := time.Now() // a budget is of this machine's time
	at, err := c.load(ctx)
	if err != nil {
		return answer, err
	}
	now := c.now()
	if at.Done && at.age(now) < roundEvery {
		return Answer{Done: true}, nil
	}
	if at.Done {
		at = cursor{Round: now}
	}
	run := &run{Compactor: c, now: now, end: c.end(ctx, begun), cursor: at}
	err = run.pages(ctx)
	run.answer.Done = run.cursor.Done
	if run.cursor == at {
		return run.answer, err
	}
	return run.answer, errors.Join(err, c.save(ctx, run.cursor))
}

// end is when a run is to come to its end.
func (c *Compactor) end(ctx context.Context, begun time.Time) time.Time {
	end := begun.Add(c.options.Budget)
	if deadline, ok := ctx.Deadline(); ok {
		if most := begun.Add(deadline.Sub(begun) / 4 * 3); most.Before(end) {
			return most
		}
	}
	return end
}
