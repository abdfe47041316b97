package fold

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// maxFolds bounds the concurrent folds of one batch.
const maxFolds = 16

// Handler handles the batches of both tables' streams, and the aggregator's scheduled tasks.
type Handler struct {
	counters  *counterFolder
	events    *eventFolder
	tops      *topFolder
	rechecks  *recheckTask
	cells     *cellsFolder
	rollups   bool
	compactor *compactor
	client    client.Updater
	table     string
	now       func() time.Time
	log       *slog.Logger
}

// New returns a Handler, or an error that lists all invalid settings.
func New(settings Settings, client Client, log *slog.Logger) (*Handler, error) {
	settings.BoardRecheck = cmp.Or(settings.BoardRecheck, BoardRecheck)
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	view := shardmap.New(client, settings.ShardMapTable, shardmap.Options{})
	rankings := boards.New(client, settings.ItemsTable, view, boards.Options{})
	tops := newTopFolder(client, settings, rankings, time.Now, log)
	return &Handler{
		compactor: newCompactor(client, settings, log, time.Now),
		counters:  newCounterFolder(client, settings.RollupsTable, time.Now),
		events:    newEventFolder(client, settings, time.Now),
		tops:      tops,
		rechecks:  newRecheckTask(tops),
		cells:     newCellsFolder(client, settings, time.Now),
		rollups:   settings.Rollups,
		client:    client,
		table:     settings.RollupsTable,
		now:       time.Now,
		log:       log,
	}, nil
}

// Invoke folds one batch: it takes Lambda's payload and returns Lambda's response. The response has the records that could
// not be folded now, and Lambda redelivers the batch from the first of these records. Records that are folded again change
// nothing. If a record can never be folded, Invoke stores its target as a failure (I16), and the stream goes on.
//
// For a schedule's payload, [CompactionTask] or [BoardsTask], it returns the task's result.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if name, ok := ddbstream.ParseTask(payload); ok {
		return h.Task(ctx, name)
	}
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("reading the batch: %w", err)
	}
	return ddbstream.Answer(batch.State, h.Deliver(ctx, batch)...)
}

// Deliver folds a decoded batch as Invoke does, and returns the sequence numbers of the records that must be redelivered.
func (h *Handler) Deliver(ctx context.Context, batch *ddbstream.Batch) (redeliver []string) {
	d := &delivery{Handler: h, batch: batch, lost: map[string]*loss{}}
	jobs := d.jobs()
	forEach(jobs, func(j job) { d.addOutcome(j, j.fold(ctx)) })
	forEach(slices.Sorted(maps.Keys(d.lost)), func(target string) { d.storeFailure(ctx, target) })
	d.acknowledge(ctx)
	d.logOutcome()
	return d.redeliver
}

// Task runs the scheduled task with this name. Alarms watch the log lines of finished tasks.
func (h *Handler) Task(ctx context.Context, name string) ([]byte, error) {
	switch name {
	case boardsTask:
		answer, err := h.rechecks.run(ctx)
		if err != nil {
			return nil, err
		}
		h.log.InfoContext(ctx, "boards task done", "looked", answer.Looked, "failed", answer.Failed, "later", answer.Later)
		return json.Marshal(answer)
	case compactionTask:
		answer, err := h.compactor.run(ctx)
		if err != nil {
			return nil, err
		}
		h.log.InfoContext(ctx, "compaction task done", "answer", answer)
		return json.Marshal(answer)
	}
	return nil, fmt.Errorf("there is no task %.40q: set \"task\" in the schedule's payload to %q or %q", name, boardsTask, compactionTask)
}

// forEach calls do for each element of a list, up to maxFolds at a time.
func forEach[T any](list []T, do func(T)) {
	var group errgroup.Group
	group.SetLimit(maxFolds)
	for _, element := range list {
		group.Go(func() error { do(element); return nil })
	}
	_ = group.Wait() // do returns no error
}

// delivery is one batch in flight.
type delivery struct {
	*Handler
	batch *ddbstream.Batch

	mu           sync.Mutex
	redeliver    []string         // sequence numbers of the records that need redelivery
	redeliverErr error            // the error of one of these records
	lost         map[string]*loss // records that their targets will never get, by target
}

// job is the fold of a batch's records into one target.
type job struct {
	target    string
	fold      func(context.Context) error
	sequences func() []string // sequence numbers of the records, in stream order
}

// jobs returns the folds of a batch, and adds records that can't be folded to d.lost.
func (d *delivery) jobs() (jobs []job) {
	var sets []changeSet
	for form, s := range summaries {
		if d.isOn(form) {
			sets = append(sets, s.gather(d))
		}
	}
	for i := range d.batch.Records {
		r := &d.batch.Records[i]
		if err := addRecord(sets, r); err != nil {
			if target, folds := d.targetOf(r); folds {
				d.addLoss(target, fmt.Errorf("record %s: %w", r.Sequence, err), string(r.Sequence))
			}
		}
	}
	for _, set := range sets {
		jobs = append(jobs, set.jobs(d)...)
	}
	return jobs
}

// isOn reports whether summaries of this form are folded.
func (h *Handler) isOn(form schema.Summary) bool { return form != schema.RollupSummary || h.rollups }

// addRecord adds a record to each changeSet. It returns an error if the record can never be folded.
func addRecord(sets []changeSet, r *ddbstream.Record) error {
	if r.Err != nil {
		return r.Err
	}
	for _, set := range sets {
		if err := set.addRecord(r); err != nil {
			return err
		}
	}
	return nil
}

// addOutcome adds the records of a failed job to the delivery: to those that the target will never get if the error is
// permanent, and otherwise to those that need redelivery.
func (d *delivery) addOutcome(j job, err error) {
	switch {
	case err == nil:
	case isPermanent(err):
		sequences := j.sequences()
		if partial, ok := errors.AsType[*partialError](err); ok {
			sequences = partial.sequences
		}
		d.addLoss(j.target, err, sequences...)
	default:
		d.requestRedelivery(err, j.sequences()...)
	}
}

// requestRedelivery requests the redelivery of records that were not folded because of an error.
func (d *delivery) requestRedelivery(err error, sequences ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.redeliver, d.redeliverErr = append(d.redeliver, sequences...), err
}

// logOutcome logs which records need redelivery, and which targets lack records: at most one line each.
func (d *delivery) logOutcome() {
	if len(d.redeliver) > 0 {
		d.log.Error("not folded: records must be redelivered", "records", len(d.redeliver), "of", len(d.batch.Records), "one error", d.redeliverErr)
	}
	if len(d.lost) > 0 {
		target := slices.Min(slices.Collect(maps.Keys(d.lost)))
		d.log.Error("not folded: targets must be recomputed", "targets", len(d.lost), "one target", target, "error", d.lost[target].reason)
	}
}
