// Package hotkey is the detector: it counts the write units of each partition key,
// of the table and of its indexes, in the batches of a DynamoDB stream, and reports each
// window's heaviest keys, with certified rates, as a heat item and as metrics.
//
//	source, err := hotkey.FindSource(ctx, client, settings)
//	handler, err := hotkey.New(settings, hotkey.Deps{
//		Source: source, Heat: client, Shards: hotkey.OpenShards(client, settings), Partitions: hotkey.CountPartitions(streams),
//		Metrics: sink, Log: log, Now: time.Now,
//	})
//	lambda.Start(handler)
//
// It is the controller of shard counts as well: a key that nears a partition's
// limit grows, and one whose load was low for a quiet period shrinks. What to do
// is for [Policy] to say; the controller gathers the evidence and makes the changes.
//
// A batch goes through five stages, each of which hands values on to the next:
//
//	package count what a record wrote                     payload -> writes
//	count.go   units by partition key, in windows         writes  -> heat items
//	judge.go   which keys are hot, and how certainly      items   -> reports
//	report.go  the heat table, log lines, metrics         reports
//	act.go     growth of what is hot                      reports -> decisions
//
// A scheduled task folds heat items into layers, over all stream shards and over time
// (layers.go), and another one has shard counts shrink (shrink.go).
//
// A stream holds only writes that succeeded and changed something. A key that
// throttles looks flat in it, just below a partition's limit, so all rates here
// are lower bounds of what callers wanted. Refusals are for writers to answer.
package hotkey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat/count"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/schedule"
)

// Deps are what a Handler works with. All are required, but Partitions, and but Shards for
// a table that is not hotshard's own.
type Deps struct {
	Source  count.Source // see [FindSource]; hotshard's own table needs none
	Heat    HeatTable
	Shards  Shards
	Metrics metrics.Sink
	Log     *slog.Logger
	Now     func() time.Time

	// Partitions returns how many partitions the table has whose stream this is; nil
	// where nobody can tell. See [CountPartitions].
	Partitions func(ctx context.Context, streamARN string) (int, error)
}

// Handler answers the deliveries of a stream. It is safe for concurrent use.
type Handler struct {
	settings   Settings
	deps       Deps
	reporter   reporter
	census     census
	controller controller
	shrinker   shrinker
	folder     folder
	ages       ages
	decoders   sync.Pool // of *ddbstream.Decoder
}

// New returns a Handler, or all faults of the settings.
func New(settings Settings, deps Deps) (*Handler, error) {
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("hotkey: settings: %w", err)
	}
	if settings.Source == Hotshard && deps.Source.Table == "" {
		deps.Source = count.OwnSource(settings.ItemsTable)
	}
	if err := deps.check(); err != nil {
		return nil, fmt.Errorf("hotkey: %w", err)
	}
	deps.Source.Warn(deps.Log)
	heat := openTable(deps.Heat, settings)
	changer := &changer{settings: settings, shards: deps.Shards}
	return &Handler{
		settings: settings, deps: deps,
		reporter:   reporter{settings: settings, heat: heat, shards: deps.Shards, budget: newBudget(settings, deps.Heat)},
		census:     census{settings: settings, shards: deps.Shards, count: deps.Partitions},
		controller: controller{changer: changer, heat: heat},
		shrinker:   shrinker{changer: changer, heat: heat},
		folder:     folder{settings: settings, heat: heat},
		decoders:   sync.Pool{New: func() any { return new(ddbstream.Decoder) }},
	}, nil
}

func (d *Deps) check() error {
	needed := []any{d.Heat, d.Metrics}
	if d.Source.Own {
		needed = append(needed, d.Shards)
	}
	if d.Source.PartitionKey == "" || slices.Contains(needed, nil) || d.Log == nil || d.Now == nil {
		return errors.New("a dependency is missing")
	}
	return nil
}

// Invoke counts one batch: Lambda's payload in, its answer out. It takes
// [LayersTask] and [ShrinkTask] as well.
//
// With a tumbling window the counts travel in the window's state, and are
// reported when it ends. The counts depend on the payload alone, so a delivery
// that is repeated or split after a failure comes to the same ones, and its heat
// item replaces the first one. Without a tumbling window each batch is
// reported by itself, in parts of the windows in which its records were made.
//
// A state that can't be read is dropped: the window goes on with what it gets
// from then on. So is a record that can't be read. Both are counted, and the window
// is marked as incomplete. A heat item that can't be written fails the invocation,
// and Lambda repeats it, which is safe; metrics are sent after that, at least once
// and not again when sending fails.
func (h *Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if task, ok := schedule.Parse(payload); ok {
		j := h.journal(h.deps.Source)
		defer j.send(ctx, h.deps.Metrics, &h.ages)
		return h.task(ctx, j, task)
	}
	decoder := h.decoders.Get().(*ddbstream.Decoder)
	defer h.decoders.Put(decoder)
	defer decoder.Release()
	batch, err := decoder.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("hotkey: reading the batch: %w", err)
	}
	j := h.journal(h.deps.Source.Of(batch.TableName()))
	defer j.send(ctx, h.deps.Metrics, &h.ages)
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
		return h.folder.task(ctx, j)
	case "shrink":
		return h.shrinker.task(ctx, j)
	}
	return nil, fmt.Errorf("hotkey: task %.40q is not known", name)
}

// deliver counts a batch, judges the windows that it is about, reports those that are
// over, and acts on what is hot. It returns the state to hand on.
func (h *Handler) deliver(ctx context.Context, j *journal, batch *ddbstream.Batch) (state map[string]string, err error) {
	counts := newCounts(h.settings, batch)
	before := judge(j.foreign, counts.running())
	counts.add(count.Decode(batch.Records, j.source), j.now())
	running, ended := judge(j.foreign, counts.running()), judge(j.foreign, counts.ended(j.now()))
	h.ages.see(counts, j.now())
	j.counted(ctx, counts)
	if err := h.reporter.report(ctx, j, ended); err != nil {
		return nil, err
	}
	for _, report := range newlyHot(running, before) {
		h.reporter.alarm(ctx, j, &report)
	}
	h.census.take(ctx, j, batch)
	h.controller.act(ctx, j, ended, running)
	return counts.state(), nil
}

func (h *Handler) journal(source count.Source) *journal {
	j := &journal{Logger: h.deps.Log, source: source, now: h.deps.Now}
	if !h.deps.Source.Own {
		j.foreign = source.Table
	}
	return j
}
