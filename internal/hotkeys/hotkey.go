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
// A batch goes through three stages:
//
//	count.go   units by partition key, in windows       records -> heat items
//	decide.go  what to do about a hot key (loads.go)    heat items, entry of the shard map, time -> decision
//	act.go     changes of shard counts; report.go has the heat table, log lines and metrics
//
// A scheduled task folds heat items over all stream shards into minutes, and these into blocks (heat.go). Another one
// lowers shard counts (shrink.go).
//
// A stream has only writes that succeeded and changed something. A throttled key looks flat in it, just below a
// partition's limit. So all rates here are lower bounds of the demand, and writers respond to throttling themselves.
package hotkeys

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Deps holds what a Handler works with. Fields are required unless they say otherwise.
type Deps struct {
	Source  heat.CountedTable // see [FindSource]; may be zero for hotshard's own tables
	Heat    HeatTable
	Shards  Shards // may be nil for a table without write shards
	Metrics Sink   // nil sends none
	Log     *slog.Logger
	Now     func() time.Time

	// Partitions returns the number of a table's partitions. It may be nil. See [CountPartitions].
	Partitions func(ctx context.Context, table string) (int, error)
}

// Handler handles the deliveries of a stream. It is safe for concurrent use.
type Handler struct {
	settings         Settings
	deps             Deps
	reporter         reporter
	partitionCounter partitionCounter
	controller       controller
	shrinker         shrinker
	folder           folder
	decoders         sync.Pool // of *ddbstream.Decoder
	logged           lastTexts // what is logged once
}

// New returns a Handler, or an error that names all wrong settings.
func New(settings Settings, deps Deps) (*Handler, error) {
	settings = settings.withDefaults()
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("hotkeys: settings: %w", err)
	}
	if settings.SourceTable == "" && deps.Source.Table == "" {
		deps.Source = heat.OwnTable(settings.names(), schema.ItemsTable)
	}
	if err := deps.check(); err != nil {
		return nil, fmt.Errorf("hotkeys: %w", err)
	}
	deps.Source.Warn(deps.Log)
	heat := openTable(deps.Heat, settings)
	changer := &changer{settings: settings, shards: deps.Shards}
	return &Handler{
		settings: settings, deps: deps,
		reporter:         reporter{settings: settings, heat: heat},
		partitionCounter: partitionCounter{settings: settings, shards: deps.Shards, count: deps.Partitions},
		controller:       controller{changer: changer, heat: heat},
		shrinker:         shrinker{changer: changer, heat: heat},
		folder:           folder{settings: settings, heat: heat},
		decoders:         sync.Pool{New: func() any { return new(ddbstream.Decoder) }},
	}, nil
}

func (d *Deps) check() error {
	lacksShards := d.Source.Own != "" && d.Shards == nil
	if lacksShards || d.Source.PartitionKey == "" || d.Heat == nil || d.Log == nil || d.Now == nil {
		return errors.New("Deps lacks the Source's PartitionKey, Heat, Log or Now, or for hotshard's own tables Shards: set all of them")
	}
	return nil
}

// Invoke counts one batch: it takes Lambda's payload and returns its response. It also runs [HeatTask] and
// [ShrinkTask].
//
// With a tumbling window the counts are carried in the window's state, and reported when the window ends. Without one,
// each batch reports its share of the windows in which its records were written. The counts depend only on the payload.
// So a redelivered or split batch has the same counts, and its heat item replaces the first one.
//
// A state or a record that can't be read is dropped and counted, and its window is marked as incomplete. If a heat item
// can't be written, Invoke fails, and Lambda may retry it. Metrics are sent last and once.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if name, ok := ddbstream.ParseTask(payload); ok {
		return h.Task(ctx, name)
	}
	decoder := h.decoders.Get().(*ddbstream.Decoder)
	defer h.decoders.Put(decoder)
	defer decoder.Release()
	batch, err := decoder.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("hotkeys: reading the batch: %w", err)
	}
	state, err := h.Deliver(ctx, batch)
	if err != nil {
		return nil, err
	}
	return ddbstream.Answer(state)
}

// Deliver does what Invoke does with a decoded batch, and returns the window's state.
func (h *Handler) Deliver(ctx context.Context, batch *ddbstream.Batch) (state map[string]string, err error) {
	j := h.newJournal(h.sourceOf(batch.TableName()))
	defer j.sendMetrics(ctx, h.deps.Metrics)
	return h.processBatch(ctx, j, batch)
}

// LostState returns the state of a tumbling window that lacks a batch: the windows that it counts from now on are incomplete.
func LostState() map[string]string { return map[string]string{lostField: "1"} }

// processBatch counts a batch, reports the windows that have ended, and acts on hot keys. It returns the state for the next
// delivery.
func (h *Handler) processBatch(ctx context.Context, j *journal, batch *ddbstream.Batch) (state map[string]string, err error) {
	counts := newCounts(h.settings, batch)
	runningBefore := mergedWindows(&j.source, true, counts.runningItems()...)
	counts.addWrites(heat.DecodeWrites(batch.Records, j.source), j.now())
	ended := mergedWindows(&j.source, false, counts.endedItems(j.now())...)
	running := mergedWindows(&j.source, true, counts.runningItems()...)
	j.logCounts(ctx, counts)
	if err := h.reporter.storeItems(ctx, j, ended, counts.heldItems(j.now())); err != nil {
		return nil, err
	}
	h.reporter.reportHot(ctx, j, ended, running, runningBefore)
	h.controller.grow(ctx, j, append(ended, running...))
	return counts.state(), nil
}

// sourceOf returns the source of a batch by the name of its table; "" is the table of [Deps]. A table that the settings
// don't name has that table's key attributes, or another partition key alone. Its keys are reported, and never grow.
func (h *Handler) sourceOf(table string) heat.CountedTable {
	s := h.deps.Source
	if table == "" || table == s.Table {
		return s
	}
	if own, ok := h.settings.names().Streamed(table); ok && s.Own != "" {
		return heat.OwnTable(h.settings.names(), own)
	}
	return heat.CountedTable{Table: table, PartitionKey: s.PartitionKey, SortKey: s.SortKey, Unnamed: true}
}

// newJournal returns the empty journal of an invocation.
func (h *Handler) newJournal(source heat.CountedTable) *journal {
	return &journal{Logger: h.deps.Log, source: source, now: h.deps.Now, logged: &h.logged}
}
