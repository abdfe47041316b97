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

// Settings are the function's environment variables.
type Settings struct {
	// RollupsTable names the table of the summaries. Required.
	RollupsTable string `env:"HOTSHARD_ROLLUPS_TABLE,notEmpty"`
}

// maxFolds bounds the updates under way for one batch.
const maxFolds = 16

// Handler answers the deliveries of the items table's stream.
type Handler struct {
	folder *folder
	log    *slog.Logger
}

// New returns a Handler.
func New(settings Settings, client Client, log *slog.Logger) *Handler {
	return &Handler{folder: newFolder(client, settings.RollupsTable, time.Now), log: log}
}

// Invoke folds one batch: Lambda's payload in, its answer out. Records that
// could not be folded are reported, so that Lambda delivers the batch again from
// the lowest of them on; folding the others twice changes nothing.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("reading the batch: %w", err)
	}
	var failed failures
	var changes []change
	for i := range batch.Records {
		c, ok, err := read(&batch.Records[i])
		switch {
		case err != nil:
			failed.add(h.log, err, batch.Records[i].Sequence)
		case ok:
			changes = append(changes, c)
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxFolds)
	for _, t := range newest(changes) {
		group.Go(func() error {
			if err := h.folder.fold(ctx, t); err != nil {
				failed.add(h.log, err, sequencesOf(changes, t.pk)...)
			}
			return nil
		})
	}
	_ = group.Wait() // failures are per record
	return ddbstream.Answer(batch.State, failed.sequences...)
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
	mu        sync.Mutex
	sequences []string
}

func (f *failures) add(log *slog.Logger, err error, sequences ...string) {
	log.Error("not folded", "error", err, "records", len(sequences))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sequences = append(f.sequences, sequences...)
}
