package rollup

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/ddbstream"
)

// maxFolds bounds the updates under way for one batch.
const maxFolds = 16

// Handler answers the deliveries of the items table's stream.
type Handler struct {
	folder *folder
	events *eventFolder
	rules  Rules
	log    *slog.Logger
}

// New returns a Handler, or an error that lists all faults of the settings.
func New(settings Settings, client Client, log *slog.Logger) (*Handler, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	return &Handler{
		folder: newFolder(client, settings.RollupsTable, time.Now),
		events: newEventFolder(client, settings, time.Now),
		rules:  settings.Rules,
		log:    log,
	}, nil
}

// Invoke folds one batch: Lambda's payload in, its answer out. Records that
// could not be folded are reported, so that Lambda delivers the batch again from
// the lowest of them on; folding the others twice changes nothing.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("reading the batch: %w", err)
	}
	failed := failures{log: h.log}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxFolds)
	for _, j := range h.jobs(batch, &failed) {
		group.Go(func() error {
			if err := j.fold(ctx); err != nil {
				failed.add(err, j.sequences()...)
			}
			return nil
		})
	}
	_ = group.Wait() // failures are per record
	return ddbstream.Answer(batch.State, failed.sequences...)
}

// job is one target of a batch.
type job struct {
	fold      func(context.Context) error
	sequences func() []string // of all its records
}

// jobs sorts a batch's records by what they fold into.
func (h *Handler) jobs(batch *ddbstream.Batch, failed *failures) (jobs []job) {
	var changes []change
	events := newBuckets(h.rules, batch.ShardID)
	for i := range batch.Records {
		r := &batch.Records[i]
		c, ok, err := read(r)
		if ok {
			changes = append(changes, c)
		} else if err == nil {
			err = events.add(r)
		}
		if err != nil {
			failed.add(err, r.Sequence)
		}
	}
	for _, t := range newest(changes) {
		jobs = append(jobs, job{
			fold:      func(ctx context.Context) error { return h.folder.fold(ctx, t) },
			sequences: func() []string { return sequencesOf(changes, t.pk) },
		})
	}
	for _, b := range events.list {
		if batch.ShardID == "" {
			failed.add(errNoStreamShard, b.sequences()...)
			continue
		}
		jobs = append(jobs, job{
			fold:      func(ctx context.Context) error { return h.events.fold(ctx, b) },
			sequences: b.sequences,
		})
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

// failures collects the sequence numbers of records that must come again.
type failures struct {
	log       *slog.Logger
	mu        sync.Mutex
	sequences []string
}

func (f *failures) add(err error, sequences ...string) {
	f.log.Error("not folded", "error", err, "records", len(sequences))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sequences = append(f.sequences, sequences...)
}
