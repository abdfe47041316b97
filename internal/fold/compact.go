package fold

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/fold/parts"
)

// compactionTask is the value of "task" in [CompactionTask].
const compactionTask = "compact"

// CompactionTask is the payload with which a schedule invokes the aggregator every [CompactionInterval]. The response
// is a compactAnswer as JSON.
const CompactionTask = `{"task":"` + compactionTask + `"}`

// CompactionInterval is the time between two runs.
const CompactionInterval = time.Hour

const (
	roundEvery = 24 * time.Hour // least time between the starts of two rounds
	// A fragment or a tombstone rests once its last fold is older than restAge. For tombstones this is necessary (I14). For
	// fragments it saves writes, since a fragment with a new fold must be merged again.
	restAge = 48 * time.Hour
)

// compactor runs the scheduled task that keeps summaries small. It scans the rollups table, once a day, and
//
//   - merges the fragments of event rollups and of boards' histograms into which nothing was folded for 48 hours: a
//     stream's shards come and go, and each leaves a fragment behind;
//   - removes, two days later, the tombstones that counters' summaries keep of write shards that were removed.
//
// A run does a part of a round, and stores a cursor in the table. By default 24 runs of five minutes read up to 11 GB. In a
// larger table, or if merging needs more than 100 WCU/s, a round takes longer than a day.
//
// Folds go on meanwhile. Every change is conditional on the state that was read, and is made as a whole or not at all. So a
// run may end anywhere, and two may run at a time.
type compactor struct {
	client    Client
	table     string        // of rollups
	items     string        // the items table
	retention time.Duration // of event rollups; 0 keeps them for ever
	events    *parts.Store[parts.Rollup]
	cells     *parts.Store[parts.Histogram]
	log       *slog.Logger
	now       func() time.Time

	rest       time.Duration // a fragment is merged when its last fold is older
	budget     time.Duration // most time of a run, which also ends after three quarters of its context's time
	readUnits  int           // RCU/s of the scan: it shares partitions of 3,000 RCU/s with folds' and readers' summaries
	writeUnits int           // WCU/s of merging: all fragments of an entity's month share one partition key with the folds
	pageItems  int32         // in a page of the scan
}

func newCompactor(client Client, settings Settings, log *slog.Logger, now func() time.Time) *compactor {
	return &compactor{
		client: client, table: settings.RollupsTable, items: settings.ItemsTable, retention: settings.RollupRetention,
		events: parts.NewEvents(client, settings.RollupsTable, now), cells: parts.NewHistograms(client, settings.RollupsTable, now),
		log: log, now: now,
		rest: restAge, budget: 5 * time.Minute, readUnits: 200, writeUnits: 100, pageItems: 500,
	}
}

// compactAnswer is the result of a run.
type compactAnswer struct {
	Buckets    int  `json:"buckets"`          // event rollups whose fragments were merged
	Boards     int  `json:"boards,omitempty"` // histograms of boards' periods whose fragments were merged
	Merged     int  `json:"merged"`           // merged fragments
	Tombstones int  `json:"tombstones"`       // write shards removed from counters' summaries
	Failed     int  `json:"failed,omitempty"` // summaries left unchanged because of an error, which is logged
	Done       bool `json:"done"`             // the round is complete: the next runs have nothing to do until a new one
}

// run continues the last round. If that is complete, run starts one, or does nothing if the last began less than a day
// ago. It logs a summary that can't be compacted, and leaves it for the next round. If the scan fails, run returns an
// error, and the next run continues the scan.
func (c *compactor) run(ctx context.Context) (answer compactAnswer, err error) {
	begun := time.Now() // the budget is real time
	start, err := c.load(ctx)
	if err != nil {
		return answer, err
	}
	now := c.now()
	if start.Done && start.age(now) < roundEvery {
		return compactAnswer{Done: true}, nil
	}
	if start.Done {
		start = cursor{Round: now}
	}
	r := &compaction{compactor: c, now: now, end: c.deadline(ctx, begun), cursor: start}
	err = r.scanPages(ctx)
	r.answer.Done = r.cursor.Done
	if r.cursor == start {
		return r.answer, err
	}
	return r.answer, errors.Join(err, c.save(ctx, r.cursor))
}

// deadline returns when a run must end.
func (c *compactor) deadline(ctx context.Context, begun time.Time) time.Time {
	budget := c.budget
	if deadline, ok := ctx.Deadline(); ok {
		budget = min(budget, deadline.Sub(begun)/4*3)
	}
	return begun.Add(budget)
}
