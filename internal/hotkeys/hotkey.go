// Package hotkeys is the detector. It counts the write units of each partition key, of the table and of its indexes, in
// the batches of a DynamoDB stream. For each window it reports the heaviest keys, with certified rates, as a heat item
// and as metrics.
//
//	source, err := hotkeys.FindSource(ctx, client, settings)
//	handler, err := hotkeys.New(settings, hotkeys.Deps{
//		Source: source, Heat: client, Shards: hotkeys.OpenShards(client, settings),
//		Partitions: hotkeys.CountPartitions(streams, dynamo.Pause), Metrics: sink, Log: log, Now: time.Now,
//	})
//	lambda.Start(handler)
//
// It is also the controller of shard counts. It raises the count of a key that nears a partition's limit, and lowers it
// after a quiet period with a low load. [Policy] decides; the controller gathers the evidence and makes the changes.
//
// A batch goes through five stages:
//
//	package count what a record wrote                     payload -> writes
//	count.go   units by partition key, in windows         writes  -> heat items
//	judge.go   which keys are hot, and how certainly      items   -> reports
//	report.go  the heat table, log lines, metrics         reports
//	act.go     growth of what is hot                      reports -> decisions
//
// A scheduled task merges heat items into layers, over all stream shards and over time (layers.go). Another one lowers
// shard counts (shrink.go).
//
// A stream has only writes that succeeded and changed something. A throttled key looks flat in it, just below a
// partition's limit. So all rates here are lower bounds of the demand, and writers respond to throttling themselves.
package hotkeys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat/count"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/metrics"
	"github.com/hotshard/hotshard/internal/base/schedule"
)

// Deps holds what a Handler works with. All fields are required except Partitions, and except Shards for a table without
// write shards.
type Deps struct {
	Source  count.Source // see [FindSource]; hotshard's own tables need none
	Heat    HeatTable
	Shards  Shards
	Adopted AdoptedTable // required with a [Settings.SourceMap] only
	Metrics metrics.Sink
	Log     *slog.Logger
	Now     func() time.Time

	// Partitions returns the number of a table's partitions. It may be nil. See [CountPartitions].
	Partitions func(ctx context.Context, table string) (int, error)
}

// Handler handles the deliveries of a stream. It is safe for concurrent use.
type Handler struct {
	settings   Settings
	deps       Deps
	reporter   reporter
	census     census
	controller controller
	shrinker   shrinker
	folder     folder
	decoders   sync.Pool // of *ddbstream.Decoder
}

// New returns a Handler, or an error that names all faults of the settings.
func New(settings Settings, deps Deps) (*Handler, error) {
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("hotkeys: settings: %w", err)
	}
	if settings.Source == Hotshard && deps.Source.Table == "" {
		deps.Source = count.OwnSource(settings.names(), kind.Items)
	}
	if err := deps.check(settings); err != nil {
		return nil, fmt.Errorf("hotkeys: %w", err)
	}
	deps.Source.Warn(deps.Log)
	deps.Source.VectorIndexes = nil
	heat := openTable(deps.Heat, settings)
	changer, adoption := &changer{settings: settings, shards: deps.Shards}, newAdoption(settings, deps.Adopted)
	return &Handler{
		settings: settings, deps: deps,
		reporter:   reporter{settings: settings, heat: heat, shards: deps.Shards, adoption: adoption, budget: newBudget(settings, deps.Heat)},
		census:     census{settings: settings, shards: deps.Shards, count: deps.Partitions, due: map[string]time.Time{}, failed: map[string]int{}},
		controller: controller{changer: changer, heat: heat, adoption: adoption},
		shrinker:   shrinker{changer: changer, heat: heat},
		folder:     folder{settings: settings, heat: heat},
		decoders:   sync.Pool{New: func() any { return new(ddbstream.Decoder) }},
	}, nil
}

func (d *Deps) check(s Settings) error {
	needed := []any{d.Heat, d.Metrics}
	if d.Source.Own != "" || s.SourceMap != "" {
		needed = append(needed, d.Shards)
	}
	if s.SourceMap != "" {
		needed = append(needed, d.Adopted)
	}
	if d.Source.PartitionKey == "" || slices.Contains(needed, nil) || d.Log == nil || d.Now == nil {
		return errors.New("a dependency is missing")
	}
	return nil
}

// Invoke counts one batch: it takes Lambda's payload and returns its response. It also runs [LayersTask] and
// [ShrinkTask].
//
// With a tumbling window the counts are carried in the window's state, and reported when the window ends. They depend
// on the payload alone. So a batch that is redelivered or split after a failure has the same counts, and its heat item
// replaces the first one. Without a tumbling window each batch reports its share of the windows in which its records
// were made.
//
// A state or a record that can't be read is dropped and counted, and its window is marked as incomplete. If a heat item
// can't be written, Invoke fails and Lambda safely retries it. Metrics are sent after that, and not again if sending
// fails.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if task, ok := schedule.Parse(payload); ok {
		j := h.journal(h.deps.Source)
		defer j.send(ctx, h.deps.Metrics)
		return h.task(ctx, j, task)
	}
	decoder := h.decoders.Get().(*ddbstream.Decoder)
	defer h.decoders.Put(decoder)
	defer decoder.Release()
	batch, err := decoder.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("hotkeys: reading the batch: %w", err)
	}
	j := h.journal(h.source(batch.TableName()))
	defer j.send(ctx, h.deps.Metrics)
	state, err := h.deliver(ctx, j, batch)
	if err != nil {
		return nil, err
	}
	return ddbstream.Answer(state)
}

// task runs a scheduled task.
func (h *Handler) task(ctx context.Context, j *journal, name string) ([]byte, error) {
	switch name {
	case "layers":
		return h.layers(ctx, j)
	case "shrink":
		return h.shrinker.task(ctx, j)
	}
	return nil, fmt.Errorf("hotkeys: task %.40q is not known", name)
}

// snapshotTime bounds how long a snapshot of the shard map may delay the layers task.
const snapshotTime = 20 * time.Second

// storeSnapshot stores a snapshot of the shard map if one is due. It logs a failure, after which starting processes read
// the map's keys.
func (h *Handler) storeSnapshot(ctx context.Context, j *journal) {
	if j.source.Own == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTime)
	defer cancel()
	if err := h.deps.Shards.StoreSnapshot(ctx, j.now()); err != nil {
		j.WarnContext(ctx, "snapshot of the shard map not stored", "error", err)
	}
}

// layers folds heat items, and counts partitions meanwhile. Then it stores a snapshot of the shard map if one is due.
func (h *Handler) layers(ctx context.Context, j *journal) ([]byte, error) {
	counted := make(chan []metrics.Datum, 1)
	go func() { counted <- h.census.update(ctx, j) }()
	answer, err := h.folder.task(ctx, j)
	h.storeSnapshot(ctx, j)
	j.data = append(j.data, <-counted...)
	return answer, err
}

// deliver counts a batch, reports its windows that are over, and acts on hot keys. It returns the state for the next
// delivery.
func (h *Handler) deliver(ctx context.Context, j *journal, batch *ddbstream.Batch) (state map[string]string, err error) {
	counts := newCounts(h.settings, batch)
	before := judge(&j.source, counts.running())
	counts.addWrites(count.Decode(batch.Records, j.source), j.now())
	running, ended := judge(&j.source, counts.running()), judge(&j.source, counts.ended(j.now()))
	j.logCounts(ctx, counts)
	if err := h.reporter.report(ctx, j, ended, counts.release(j.now())); err != nil {
		return nil, err
	}
	for _, report := range newlyHot(running, before) {
		h.reporter.reportHot(ctx, j, &report)
	}
	h.controller.act(ctx, j, batch.Records, ended, running)
	return counts.state(), nil
}

// source returns the source for a batch of a table's stream. Of a table that the settings don't name only the report is
// made. "" stands for the settings' own.
func (h *Handler) source(table string) count.Source {
	s := h.deps.Source
	if table == "" || table == s.Table {
		return s
	}
	if own, ok := h.settings.names().Streamed(table); ok && s.Own != "" {
		return count.OwnSource(h.settings.names(), own)
	}
	return count.Source{Table: table, PartitionKey: s.PartitionKey, SortKey: s.SortKey}
}

func (h *Handler) journal(source count.Source) *journal {
	return &journal{Logger: h.deps.Log, source: source, now: h.deps.Now}
}
