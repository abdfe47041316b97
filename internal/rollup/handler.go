package rollup

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

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/compact"
	"github.com/hotshard/hotshard/internal/schedule"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// maxFolds bounds the calls under way for one batch.
const maxFolds = 16

// Handler answers the deliveries of the items table's stream.
type Handler struct {
	folder    *folder
	events    *eventFolder
	tops      *topFolder
	looker    *looker
	cells     *cellsFolder
	rules     Rules
	compactor *compact.Compactor
	client    dynamo.Updater
	table     string
	now       func() time.Time
	log       *slog.Logger
}

// New returns a Handler, or an error that lists all faults of the settings.
func New(settings Settings, client Client, log *slog.Logger) (*Handler, error) {
	settings.BoardRecheck = cmp.Or(settings.BoardRecheck, defaultRecheck)
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	compactor, err := compact.New(compact.Options{
		RollupsTable: settings.RollupsTable, ItemsTable: settings.ItemsTable, Retention: settings.RollupRetention,
	}, client, log, time.Now)
	if err != nil {
		return nil, err
	}
	view := shardmap.New(client, settings.ShardMapTable, shardmap.Options{})
	rankings := boards.New(client, settings.ItemsTable, view, boards.Options{})
	tops := newTopFolder(client, settings, rankings, time.Now, log)
	return &Handler{
		compactor: compactor,
		folder:    newFolder(client, settings.RollupsTable, time.Now),
		events:    newEventFolder(client, settings, time.Now),
		tops:      tops,
		looker:    newLooker(tops),
		cells:     newCellsFolder(client, settings, time.Now),
		rules:     settings.Rules,
		client:    client,
		table:     settings.RollupsTable,
		now:       time.Now,
		log:       log,
	}, nil
}

// Invoke folds one batch: Lambda's payload in, its answer out. Records that could
// not be folded now are reported, so that Lambda delivers the batch again from the
// lowest of them on; folding the others twice changes nothing. Of those that never can
// be the target is noted as a failure (I16), and they hold up nothing.
//
// The payloads of schedules, [compact.Task] and [BoardsTask], are answered with what
// the task did.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if task, ok := schedule.Parse(payload); ok {
		return h.task(ctx, task)
	}
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("reading the batch: %w", err)
	}
	d := &delivery{Handler: h, batch: batch, lost: map[string]*loss{}}
	jobs := d.jobs()
	each(jobs, func(j job) { d.settle(j, j.fold(ctx)) })
	each(slices.Sorted(maps.Keys(d.lost)), func(target string) { d.park(ctx, target) })
	d.acknowledge(ctx)
	d.report()
	return ddbstream.Answer(batch.State, d.again...)
}

// task does what a schedule asks for. Alarms wait for the lines that say that it did.
func (h *Handler) task(ctx context.Context, name string) ([]byte, error) {
	switch name {
	case boardsTask:
		answer, err := h.looker.lookAgain(ctx)
		if err != nil {
			return nil, err
		}
		h.log.InfoContext(ctx, "boards task done", "looked", answer.Looked, "failed", answer.Failed, "later", answer.Later)
		return json.Marshal(answer)
	case compact.TaskName:
		answer, err := h.compactor.Run(ctx)
		if err != nil {
			return nil, err
		}
		h.log.InfoContext(ctx, "compaction task done", "answer", answer)
		return json.Marshal(answer)
	}
	return nil, fmt.Errorf("rollup: task %.40q is not known", name)
}

// each does something for all of a list, some at a time.
func each[T any](list []T, do func(T)) {
	var group errgroup.Group
	group.SetLimit(maxFolds)
	for _, one := range list {
		group.Go(func() error { do(one); return nil })
	}
	_ = group.Wait() // what fails is noted by itself
}

// delivery is the work on one batch.
type delivery struct {
	*Handler
	batch *ddbstream.Batch

	mu    sync.Mutex
	again []string         // sequence numbers of the records that must come again
	why   error            // of one of them
	lost  map[string]*loss // by target
}

// job is one target of a batch.
type job struct {
	target    string
	fold      func(context.Context) error
	sequences func() []string // of all its records, in stream order
}

// jobs sorts a batch's records by what they fold into.
func (d *delivery) jobs() (jobs []job) {
	var changes []change
	events := newBuckets(d.rules, d.batch.ShardID)
	boards := boardsNews{}
	for i := range d.batch.Records {
		r := &d.batch.Records[i]
		c, ok, err := read(r)
		if ok {
			changes = append(changes, c)
		} else if err == nil {
			err = cmp.Or(events.add(r), boards.add(r)) // it is one or the other
		}
		if err == nil {
			continue
		}
		if target, folds := d.targetOf(r); folds {
			d.lose(target, err, string(r.Sequence))
		}
	}
	for _, t := range newest(changes) {
		jobs = append(jobs, job{
			target:    t.pk,
			fold:      func(ctx context.Context) error { return d.folder.fold(ctx, t) },
			sequences: func() []string { return t.sequences },
		})
	}
	for _, b := range events.list {
		jobs = append(jobs, job{
			target:    b.Key().Target,
			fold:      func(ctx context.Context) error { return d.events.fold(ctx, b) },
			sequences: b.sequences,
		})
	}
	return append(jobs, d.boardJobs(boards)...)
}

// boardJobs are two for each board's period: its top, and the stream shard's part of
// its histogram.
func (d *delivery) boardJobs(boards boardsNews) (jobs []job) {
	for _, s := range boards {
		pk := s.PK()
		if len(s.turns) > 0 {
			jobs = append(jobs,
				job{pk, func(ctx context.Context) error { return d.tops.fold(ctx, s) }, s.sequences},
				job{pk, func(ctx context.Context) error { return d.cells.fold(ctx, s, d.batch.ShardID) }, s.sequences})
		}
		if len(s.raised) > 0 {
			raised := func() []string { return s.raised }
			jobs = append(jobs, job{pk, func(ctx context.Context) error { return d.tops.note(ctx, s) }, raised})
		}
	}
	return jobs
}

// settle notes what became of a job.
func (d *delivery) settle(j job, err error) {
	switch {
	case err == nil:
	case permanent(err):
		sequences := j.sequences()
		if some, ok := errors.AsType[*partly](err); ok {
			sequences = some.sequences
		}
		d.lose(j.target, err, sequences...)
	default:
		d.retry(err, j.sequences()...)
	}
}

// retry has records come again.
func (d *delivery) retry(err error, sequences ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.again, d.why = append(d.again, sequences...), err
}

// report logs what was not folded, a line a batch.
func (d *delivery) report() {
	if len(d.again) > 0 {
		d.log.Error("not folded: records must come again", "records", len(d.again), "of", len(d.batch.Records), "one error", d.why)
	}
	if len(d.lost) > 0 {
		target := slices.Min(slices.Collect(maps.Keys(d.lost)))
		d.log.Error("not folded: targets must be computed anew", "targets", len(d.lost), "one target", target, "error", d.lost[target].reason)
	}
}
