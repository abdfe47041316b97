// Package hotkey is the detector: it counts the write units of each partition key,
// of the table and of its indexes, in the batches of a DynamoDB stream, and reports each window's heaviest keys,
// with certified rates, as a heat item and as metrics.
//
//	source, err := hotkey.FindSource(ctx, client, settings)
//	changer := ddb.NewMapChanger(client, ddb.NewMap(client, settings.ShardMapTable), ddb.ChangerOptions{Keep: ddb.HistoryKept(settings.EventRetention)})
//	handler, err := hotkey.New(settings, hotkey.Deps{
//		Source: source, Items: client, Rollups: client, Shards: changer, Metrics: sink, Log: log, Now: time.Now,
//	})
//	lambda.Start(handler)
//
// It is the controller of shard counts as well: a key that nears a partition's
// limit grows, and one whose load was low for a quiet period shrinks. What to do
// is for [Policy] to say; the handler gathers the evidence and makes the changes.
//
// A stream holds only writes that succeeded and changed something. A key that
// throttles looks flat in it, just below a partition's limit, so all rates here
// are lower bounds of what callers wanted.
package hotkey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/schedule"
)

// Items is what the controller needs of the items table.
type Items interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Rollups is what the detector needs of the rollups table.
type Rollups interface {
	Items
	Updater
	dynamodb.QueryAPIClient
}

// Deps are what a Handler works with. All are required, but Items and Shards for a
// table that is not hotshard's own.
type Deps struct {
	Source  Source // see [FindSource]; hotshard's own table needs none
	Items   Items
	Rollups Rollups
	Shards  Shards
	Metrics metrics.Sink
	Log     *slog.Logger
	Now     func() time.Time
}

// Handler answers the deliveries of a stream. It is safe for concurrent use.
type Handler struct {
	settings Settings
	deps     Deps
	budget   *budget
	shrinker shrinker
	ages     ages
	decoders sync.Pool // of *ddbstream.Decoder
}

// New returns a Handler, or all faults of the settings.
func New(settings Settings, deps Deps) (*Handler, error) {
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("hotkey: settings: %w", err)
	}
	if settings.Source == Hotshard && deps.Source.Table == "" {
		deps.Source = ownSource(settings.ItemsTable)
	}
	if err := deps.check(); err != nil {
		return nil, fmt.Errorf("hotkey: %w", err)
	}
	if len(deps.Source.Uncounted) > 0 {
		deps.Log.Warn("writes to indexes with keys of several attributes are not counted", "table", deps.Source.Table, "indexes", deps.Source.Uncounted)
	}
	return &Handler{
		settings: settings, deps: deps, budget: newBudget(settings, deps.Rollups),
		decoders: sync.Pool{New: func() any { return new(ddbstream.Decoder) }},
	}, nil
}

func (d *Deps) check() error {
	needed := []any{d.Rollups, d.Metrics}
	if d.Source.Own {
		needed = append(needed, d.Items, d.Shards)
	}
	if d.Source.PartitionKey == "" || slices.Contains(needed, nil) || d.Log == nil || d.Now == nil {
		return errors.New("a dependency is missing")
	}
	return nil
}

// Invoke counts one batch: Lambda's payload in, its answer out. It takes
// [ShrinkTask] as well.
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
	r := run{Handler: h, source: h.deps.Source}
	if task, ok := schedule.Parse(payload); ok {
		defer r.send(ctx)
		return r.task(ctx, task)
	}
	decoder := h.decoders.Get().(*ddbstream.Decoder)
	defer h.decoders.Put(decoder)
	defer decoder.Release()
	batch, err := decoder.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("hotkey: reading the batch: %w", err)
	}
	r.source = h.deps.Source.of(batch.TableName())
	state, err := r.count(ctx, batch)
	r.send(ctx)
	if err != nil {
		return nil, err
	}
	return ddbstream.Answer(state)
}

// run is one invocation.
type run struct {
	*Handler
	source Source // of the batch
	data   []metrics.Datum
	recent []heat.Item // of all stream shards; nil until read
	blind  bool        // shard counts could not be looked up

	windows map[*window]*counts // see counts
}

// count returns the state to hand on.
func (r *run) count(ctx context.Context, batch *ddbstream.Batch) (state map[string]string, err error) {
	now := r.deps.Now()
	t := newTally(r.settings, r.source, r.resume(batch))
	ended := batch.Final || batch.TerminatedEarly
	before := r.alarms(t.own, ended)
	r.tell(ctx, t.addAll(batch.Records, now))
	r.ages.see(t.span, now)
	r.answer(ctx, t, batch.ShardID, ended)
	r.alarm(ctx, t.own, ended, before)
	reports, err := r.report(ctx, t.done(batch.ShardID, ended, batch.TerminatedEarly))
	if err != nil {
		return nil, err
	}
	for _, report := range reports {
		r.data = append(r.data, report.data()...)
		r.addKeys(ctx, &report, report.hot())
		r.doubt(ctx, &report)
	}
	if batch.TerminatedEarly {
		r.events("WindowsTerminatedEarly", 1)
	}
	if t.own != nil && !ended {
		state = t.own.state()
	}
	return state, nil
}

// resume returns the batch's window as far as it was counted, nil if it has none.
func (r *run) resume(batch *ddbstream.Batch) *window {
	if !batch.Windowed {
		return nil
	}
	length := batch.WindowEnd.Sub(batch.WindowStart)
	if len(batch.State) == 0 {
		return newWindow(batch.WindowStart, length, r.settings.limits())
	}
	w, err := resume(batch.State, batch.WindowStart, length, r.settings.limits())
	if err != nil {
		r.deps.Log.Warn("window state dropped", "error", err, "streamShard", batch.ShardID)
		r.events("WindowStatesDropped", 1)
		w = newWindow(batch.WindowStart, length, r.settings.limits())
		w.marks.incomplete = true
	}
	return w
}

// maxPuts bounds the heat items that are written at a time.
const maxPuts = 8

// report stores the items and returns their reports.
func (r *run) report(ctx context.Context, items []heat.Item) ([]Report, error) {
	reports := make([]Report, len(items))
	group, puts := errgroup.WithContext(ctx)
	group.SetLimit(maxPuts)
	for i, item := range items {
		item.Table = r.foreign()
		reports[i] = newReport(r.source.Table, item)
		group.Go(func() error { return r.store(puts, &item) })
	}
	if err := group.Wait(); err != nil {
		r.events("HeatItemFailures", 1)
		r.deps.Log.ErrorContext(ctx, "heat item not written", "error", err)
		return nil, err
	}
	for i := range reports {
		r.log(ctx, &reports[i], reports[i].hot())
	}
	return reports, nil
}

func (r *run) store(ctx context.Context, item *heat.Item) error {
	_, err := r.deps.Rollups.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &r.settings.RollupsTable,
		Item:      item.Attributes(item.End().Add(r.settings.HeatRetention)),
	})
	if err != nil {
		return fmt.Errorf("hotkey: putting the heat item of window %s, stream shard %q: %w",
			item.Start.Format(time.RFC3339), item.StreamShard, err)
	}
	return nil
}
