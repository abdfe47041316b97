// Package hotkey is the detector: it counts the write units of each partition key,
// of the table and of its indexes, in the batches of a DynamoDB stream, and reports each window's heaviest keys,
// with certified rates, as a heat item and as metrics.
//
//	source, err := hotkey.FindSource(ctx, client, settings)
//	changer := shardmap.NewChanger(client, shardmap.New(client, settings.ShardMapTable, settings.MapOptions()), shardmap.ChangerOptions{Keep: shardmap.HistoryKept(settings.EventRetention)})
//	handler, err := hotkey.New(settings, hotkey.Deps{
//		Source: source, Heat: client, Shards: changer, Partitions: hotkey.OpenShards(streams),
//		Metrics: sink, Log: log, Now: time.Now,
//	})
//	lambda.Start(handler)
//
// It is the controller of shard counts as well: a key that nears a partition's
// limit grows, and one whose load was low for a quiet period shrinks. What to do
// is for [Policy] to say; the handler gathers the evidence and makes the changes.
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

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/internal/schedule"
)

// HeatTable is what the detector needs of the heat table.
type HeatTable interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Updater
	dynamodb.QueryAPIClient
}

// Deps are what a Handler works with. All are required, but Partitions, and but Shards for
// a table that is not hotshard's own.
type Deps struct {
	Source  Source // see [FindSource]; hotshard's own table needs none
	Heat    HeatTable
	Shards  Shards
	Metrics metrics.Sink
	Log     *slog.Logger
	Now     func() time.Time

	// Partitions returns how many partitions the table has whose stream this is; nil
	// where nobody can tell. See [OpenShards].
	Partitions func(ctx context.Context, streamARN string) (int, error)
}

// Handler answers the deliveries of a stream. It is safe for concurrent use.
type Handler struct {
	settings Settings
	deps     Deps
	budget   *budget
	counts   counts
	task     sync.Mutex // is held while the scheduled task runs
	once     once
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
	deps.Source.warn(deps.Log)
	return &Handler{
		settings: settings, deps: deps, budget: newBudget(settings, deps.Heat),
		decoders: sync.Pool{New: func() any { return new(ddbstream.Decoder) }},
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
	defer r.send(ctx)
	if task, ok := schedule.Parse(payload); ok {
		return r.scheduled(ctx, task)
	}
	decoder := h.decoders.Get().(*ddbstream.Decoder)
	defer h.decoders.Put(decoder)
	defer decoder.Release()
	batch, err := decoder.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("hotkey: reading the batch: %w", err)
	}
	r.source = h.deps.Source.of(batch.TableName())
	state, err := r.deliver(ctx, batch)
	if err != nil {
		return nil, err
	}
	return ddbstream.Answer(state)
}

// run is one invocation.
type run struct {
	*Handler
	source   Source // of the batch
	data     []metrics.Datum
	blind    bool     // shard counts could not be looked up
	reported []*loads // see recent; nil until read
}

// deliver counts a batch, judges the windows that it is about, reports those that are
// over, and acts on what is hot. It returns the state to hand on.
func (r *run) deliver(ctx context.Context, batch *ddbstream.Batch) (state map[string]string, err error) {
	ended := batch.Final || batch.TerminatedEarly
	t := newTally(r.settings, r.source, r.resume(batch))
	before := r.judge(t.own, ended)
	r.count(ctx, t, batch)
	running := r.judge(t.own, ended)
	reports, err := r.report(ctx, t.done(batch.ShardID, ended, batch.TerminatedEarly))
	if err != nil {
		return nil, err
	}
	r.alarm(ctx, before, running)
	r.countPartitions(ctx, batch)
	r.act(ctx, append(reports, running...))
	if t.own != nil && !ended {
		state = t.own.state()
	}
	return state, nil
}

// count counts what can be read of a batch.
func (r *run) count(ctx context.Context, t *tally, batch *ddbstream.Batch) {
	now := r.deps.Now()
	if u := t.addAll(batch.Records, now); u.records > 0 {
		r.deps.Log.ErrorContext(ctx, "records not counted", "records", u.records, "error", u.first)
		r.events("RecordsUnreadable", u.records)
	}
	if batch.TerminatedEarly {
		r.events("WindowsTerminatedEarly", 1)
	}
	r.ages.see(t.span, now)
}

// judge makes the report that a running window would have if no record came any more;
// none if it has ended, or surely has no hot key, which is the usual case.
func (r *run) judge(w *window, ended bool) []Report {
	if w == nil || ended || !w.alarming(r.settings) {
		return nil
	}
	item := w.item(r.settings, "", "")
	item.Table = r.foreign()
	report := newReport(r.source.Table, item)
	report.running = true
	return []Report{report}
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
		w.incomplete = true
	}
	return w
}

// maxPuts bounds the heat items that are written at a time.
const maxPuts = 8

// report stores the items, and tells their reports by log lines and metrics.
func (r *run) report(ctx context.Context, items []heat.Item) ([]Report, error) {
	now := r.deps.Now()
	reports := make([]Report, len(items))
	group, puts := errgroup.WithContext(ctx)
	group.SetLimit(maxPuts)
	for i, item := range items {
		item.Table = r.foreign()
		item.Incomplete = item.Incomplete || now.Sub(item.End()) > RecordAge/2 // what came before may have been given up
		reports[i] = newReport(r.source.Table, item)
		group.Go(func() error { return r.store(puts, &item) })
	}
	if err := group.Wait(); err != nil {
		r.events("HeatItemFailures", 1)
		r.deps.Log.ErrorContext(ctx, "heat item not written", "error", err)
		return nil, err
	}
	for i := range reports {
		hot := reports[i].hot()
		r.log(ctx, &reports[i], hot)
		r.data = append(r.data, reports[i].data()...)
		r.addKeys(ctx, &reports[i], hot)
		r.doubt(ctx, &reports[i])
	}
	return reports, nil
}

// store puts a window's heat item, and its highlights.
func (r *run) store(ctx context.Context, item *heat.Item) error {
	for _, stored := range item.Stored(item.End().Add(r.settings.HeatRetention)) {
		_, err := r.deps.Heat.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.settings.HeatTable, Item: stored})
		if err != nil {
			return fmt.Errorf("hotkey: putting the heat item of window %s, stream shard %q: %w",
				item.Start.Format(time.RFC3339), item.StreamShard, err)
		}
	}
	return nil
}
