package rollup

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/schedule"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// maxFolds bounds the calls under way for one batch.
const maxFolds = 16

// Handler answers the deliveries of the items table's stream.
type Handler struct {
	folder *folder
	events *eventFolder
	tops   *topFolder
	cells  *cellsFolder
	rules  Rules
	client Client
	table  string
	now    func() time.Time
	log    *slog.Logger
}

// New returns a Handler, or an error that lists all faults of the settings.
func New(settings Settings, client Client, log *slog.Logger) (*Handler, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	view := ddb.NewMap(client, settings.ShardMapTable)
	boards := ddb.NewLeaderboards(client, settings.ItemsTable, view, ddb.Unwatched{}, 0)
	return &Handler{
		folder: newFolder(client, settings.RollupsTable, time.Now),
		events: newEventFolder(client, settings, time.Now),
		tops:   newTopFolder(client, settings, boards, time.Now, log),
		cells:  newCellsFolder(client, settings, time.Now),
		rules:  settings.Rules,
		client: client,
		table:  settings.RollupsTable,
		now:    time.Now,
		log:    log,
	}, nil
}

// Invoke folds one batch: Lambda's payload in, its answer out. Records that could
// not be folded now are reported, so that Lambda delivers the batch again from the
// lowest of them on; folding the others twice changes nothing. Those that never can
// be go to the failure destination with their target, and hold up nothing.
//
// It takes [BoardsTask] as well.
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
	return ddbstream.Answer(batch.State, d.again...)
}

// task does what a schedule asks for.
func (h *Handler) task(ctx context.Context, name string) ([]byte, error) {
	if name != boardsTask {
		return nil, fmt.Errorf("task %.40q is not known: want %s", name, boardsTask)
	}
	return h.tops.lookAgain(ctx)
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
	boards := standings{}
	for i := range d.batch.Records {
		r := &d.batch.Records[i]
		c, ok, err := read(r)
		if ok {
			changes = append(changes, c)
		} else if err == nil {
			err = cmp.Or(events.add(r), boards.add(r)) // it is one or the other
		}
		if target, folds := d.targetOf(r); err != nil && folds {
			d.lose(target, err, r.Sequence)
		}
	}
	for _, t := range newest(changes) {
		jobs = append(jobs, job{
			target:    t.pk,
			fold:      func(ctx context.Context) error { return d.folder.fold(ctx, t) },
			sequences: func() []string { return sequencesOf(changes, t.pk) },
		})
	}
	for _, b := range events.list {
		jobs = append(jobs, job{
			target:    b.target,
			fold:      func(ctx context.Context) error { return d.events.fold(ctx, b) },
			sequences: b.sequences,
		})
	}
	return append(jobs, d.boardJobs(boards)...)
}

// boardJobs are two for each board's period: its top, and the stream shard's part of
// its histogram.
func (d *delivery) boardJobs(boards standings) (jobs []job) {
	for pk, s := range boards {
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

// sequencesOf lists all records of a target: the batch may be cut before its
// newest, and an older one is then the newest that is delivered again.
func sequencesOf(changes []change, pk string) []string {
	var list []string
	for _, c := range changes {
		if c.partial() == pk {
			list = append(list, c.sequence)
		}
	}
	return list
}

// settle notes what became of a job.
func (d *delivery) settle(j job, err error) {
	switch {
	case err == nil:
	case permanent(err):
		d.lose(j.target, err, j.sequences()...)
	default:
		d.retry(err, j.sequences()...)
	}
}

// retry has records come again.
func (d *delivery) retry(err error, sequences ...string) {
	d.log.Error("not folded: the records must come again", "error", err, "records", len(sequences))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.again = append(d.again, sequences...)
}
