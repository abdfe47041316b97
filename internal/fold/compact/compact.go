// Package compact is the scheduled task that keeps summaries small. It scans
// the rollups table, once a day, and
//
//   - merges the fragments of event rollups and of boards' histograms into which nothing
//     was folded for 48 hours: a stream's shards come and go, and each leaves a fragment
//     behind. An event rollup with more than 16 fragments need only be over for an hour;
//   - removes, two days later, the tombstones that counters' summaries keep of write shards that
//     were removed.
//
// A run does a part of a round, and stores a cursor in the table. By default 24 runs of five minutes read up to 11 GB. In a
// larger table, or if merging needs more than 100 WCU/s, a round takes longer than a day.
//
//	compactor := compact.New(options, client, log, time.Now)
//	answer, err := compactor.Run(ctx) // {"buckets":12,"merged":70,"tombstones":3,"done":false}
//
// Folds go on meanwhile. Every change is conditional on the state that was read, and is made
// as a whole or not at all. So a run may end anywhere, and two may run at a time.
package compact

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// TaskName is the value of "task" in [Task].
const TaskName = "compact"

// Task is the payload with which a schedule invokes the aggregator every [Interval]. The response
// is an [Answer] as JSON.
const Task = `{"task":"` + TaskName + `"}`

// Interval is the time between two runs.
const Interval = time.Hour

const (
	roundEvery = 24 * time.Hour // least time between the starts of two rounds
	// rest is the age of the last fold from which a fragment or a tombstone rests. Tombstones need it (I14). For fragments
	// it saves writes, since a fragment with a new fold must be merged again.
	rest = 48 * time.Hour
)

// Client has the DynamoDB calls of the task.
type Client interface {
	parts.Client
	client.Scanner
	client.Getter
	client.Putter
	client.Updater
	client.Deleter
}

// Options configure a Compactor. Numbers and times are not negative.
type Options struct {
	RollupsTable string        // required
	ItemsTable   string        // "" keeps tombstones
	Retention    time.Duration // of event rollups; 0 keeps them for ever

	// Budget bounds the time of a run, and so do three quarters of its context's remaining time. 0
	// is 5 minutes.
	Budget time.Duration
	// ReadUnits bounds the RCU/s of the scan. 0 is 200: it shares partitions of 3,000 RCU/s with
	// folds' and readers' summaries.
	ReadUnits int
	// WriteUnits bounds the WCU/s of merging. 0 is 100: all fragments of an entity's month share
	// one partition key with the folds.
	WriteUnits int
	// PageItems bounds the items in a page of the scan. 0 is 500.
	PageItems int32
	// MaxFragments bounds the fragments that an event rollup keeps until they rest: with more, all of
	// them are merged once it has been over for an hour. 0 is 16.
	MaxFragments int
}

// Compactor runs the task. It is safe for concurrent use.
type Compactor struct {
	options Options
	client  Client
	events  *parts.Store[parts.Rollup]
	cells   *parts.Store[board.Histogram]
	log     *slog.Logger
	now     func() time.Time
}

// New returns a Compactor.
func New(options Options, client Client, log *slog.Logger, now func() time.Time) *Compactor {
	options.Budget, options.PageItems = cmp.Or(options.Budget, 5*time.Minute), cmp.Or(options.PageItems, 500)
	options.ReadUnits, options.WriteUnits = cmp.Or(options.ReadUnits, 200), cmp.Or(options.WriteUnits, 100)
	options.MaxFragments = cmp.Or(options.MaxFragments, 16)
	return &Compactor{
		options: options, client: client, log: log, now: now,
		events: parts.NewEvents(client, options.RollupsTable, now), cells: parts.NewHistograms(client, options.RollupsTable, now),
	}
}

// Answer is the result of a run.
type Answer struct {
	Buckets    int  `json:"buckets"`          // event rollups whose fragments were merged
	Boards     int  `json:"boards,omitempty"` // histograms of boards' periods whose fragments were merged
	Merged     int  `json:"merged"`           // merged fragments
	Tombstones int  `json:"tombstones"`       // write shards removed from counters' summaries
	Failed     int  `json:"failed,omitempty"` // summaries left unchanged because of an error, which is logged
	Done       bool `json:"done"`             // the round is complete: the next runs have nothing to do until a new one
}

// Run continues a round, or starts one if the last began a day ago or more. It logs a summary that
// can't be compacted, and leaves it for the next round. It returns an error if the scan failed: the
// next run continues from there.
func (c *Compactor) Run(ctx context.Context) (answer Answer, err error) {
	begun := time.Now() // the budget is real time
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
	run := &run{Compactor: c, now: now, end: c.deadline(ctx, begun), cursor: at}
	err = run.pages(ctx)
	run.answer.Done = run.cursor.Done
	if run.cursor == at {
		return run.answer, err
	}
	return run.answer, errors.Join(err, c.save(ctx, run.cursor))
}

// deadline returns when a run must end.
func (c *Compactor) deadline(ctx context.Context, begun time.Time) time.Time {
	end := begun.Add(c.options.Budget)
	if deadline, ok := ctx.Deadline(); ok {
		if most := begun.Add(deadline.Sub(begun) / 4 * 3); most.Before(end) {
			return most
		}
	}
	return end
}
