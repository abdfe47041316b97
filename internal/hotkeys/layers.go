package hotkeys

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/metrics"
)

// LayersTask is the payload with which a schedule invokes [Handler.Invoke] at least every [LayersInterval]. The answer
// is
//
// `{"windows":6,"late":0}
//
// windows is the number of folded windows; late is how many of them had been folded before.
const LayersTask = `{"task":"layers"}`

// LayersInterval is how often a deployment runs the task. Readers of heat read the items of all stream shards since its
// last run.
const LayersInterval = time.Minute

// folded is the task's answer.
type folded struct {
	Windows int `json:"windows"`
	Late    int `json:"late"`
}

const (
	// settleTime is the least time between a window's end and its fold: see [heat.Reports]. An item that is put within
	// [heat.OnTime] is in the fold, if clocks differ by no more than the rest. A later item is noted, and the next run
	// folds its window again.
	settleTime = 10 * time.Second

	// catchUp bounds the time that one run folds. After an outage each run catches up ten minutes.
	catchUp = 10 * time.Minute

	// streamRetention is how long DynamoDB keeps a stream's records.
	streamRetention = 24 * time.Hour

	// maxLate bounds the windows that one run folds again.
	maxLate = 60
)

// folder is the scheduled task that merges heat items into layers. What it puts depends only on what it reads, under
// keys that depend only on the time. So two concurrent runs do no harm: the item with more records stays.
type folder struct {
	settings Settings
	heat     *table
	mu       sync.Mutex // held while the task runs
}

// task runs the scheduled task.
func (f *folder) task(ctx context.Context, j *journal) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := j.now().UTC()
	p, err := f.begin(ctx, j, now)
	if err != nil {
		return nil, err
	}
	p.Read, p.Ran, p.Window, p.Hold = f.readSince(p, now), now, f.settings.Window, f.settings.Hold
	var answer folded
	if answer.Late, err = f.refoldLate(ctx, j, &p, now.Add(-settleTime)); err != nil {
		return nil, err
	}
	before := p.To
	if answer.Windows, err = f.foldNew(ctx, j, &p, now); err == nil && p.To.Equal(before) {
		err = f.note(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	answer.Windows += answer.Late
	// An alarm waits for this line.
	j.InfoContext(ctx, "layers task done", "windows", answer.Windows, "late", answer.Late, "upTo", p.To)
	return json.Marshal(answer)
}

// begin returns the progress. Without progress, or if its items have expired, the layers begin ten minutes ago.
func (f *folder) begin(ctx context.Context, j *journal, now time.Time) (heat.Progress, error) {
	p, err := f.heat.Progress(ctx)
	if err != nil {
		return p, fmt.Errorf("hotkeys: %w", err)
	}
	if p.To.Before(now.Add(-f.settings.HeatRetention)) {
		j.InfoContext(ctx, "layers begin")
		first := now.Add(-catchUp).Truncate(heat.ByTenMinutes.Length()) // so that no layer has a fragment of ten minutes
		p = heat.Progress{From: first, To: first, Late: now.Add(-settleTime), Read: heat.AlignDown(now.Add(-settleTime), f.settings.Window)}
	}
	return p, nil
}

// readSince returns the time from which a window without an item had no writes. Expired items prove nothing, nor does
// an outage longer than the stream's retention.
func (f *folder) readSince(p heat.Progress, now time.Time) time.Time {
	kept := heat.AlignDown(now.Add(-f.settings.HeatRetention), f.settings.Window).Add(f.settings.Window)
	switch {
	case !p.Ran.IsZero() && now.Sub(p.Ran) > streamRetention:
		return heat.AlignDown(now, f.settings.Window)
	case p.Read.Before(kept):
		return kept
	}
	return p.Read
}

// refoldLate folds again the windows, and their minutes, whose late items were noted before a time. It returns the
// number of windows.
func (f *folder) refoldLate(ctx context.Context, j *journal, p *heat.Progress, before time.Time) (int, error) {
	starts, upTo, err := f.listLate(ctx, j, *p, before)
	if err != nil {
		return 0, err
	}
	for _, s := range spansOf(starts, f.settings.Window) {
		if _, err := f.fold(ctx, j, heat.ByWindow, s.from, s.to); err != nil {
			return 0, err
		}
	}
	for _, layer := range []heat.Layer{heat.ByMinute, heat.ByTenMinutes} {
		times := make(map[time.Time]bool)
		for start := range starts {
			times[start.Truncate(layer.Length())] = true
		}
		for start := range times {
			if end := start.Add(layer.Length()); !end.After(p.To) {
				if _, err := f.fold(ctx, j, layer, start, end); err != nil {
					return 0, err
				}
			}
		}
	}
	if p.Late = upTo; len(starts) > 0 {
		err = f.note(ctx, *p)
	}
	return len(starts), err
}

// span is a time.
type span struct{ from, to time.Time }

// spansOf puts windows that follow each other together, so that items with several of them are read once.
func spansOf(starts map[time.Time]bool, window time.Duration) (spans []span) {
	for _, start := range slices.SortedFunc(maps.Keys(starts), time.Time.Compare) {
		if last := len(spans) - 1; last >= 0 && start.Sub(spans[last].to) < window {
			spans[last].to = start.Add(time.Millisecond)
		} else {
			spans = append(spans, span{start, start.Add(time.Millisecond)})
		}
	}
	return spans
}

// listLate returns the starts of the folded windows that have late items, and the time up to which they were noted. It
// stops after maxLate windows.
func (f *folder) listLate(ctx context.Context, j *journal, p heat.Progress, before time.Time) (starts map[time.Time]bool, upTo time.Time, err error) {
	starts = make(map[time.Time]bool)
	for item, err := range f.heat.items(ctx, heat.LatePartition, p.Late, before) {
		if err != nil {
			return nil, upTo, fmt.Errorf("hotkeys: reading the notes of late items: %w", err)
		}
		late, err := heat.ParseLate(item)
		if err != nil {
			f.heat.unreadable(ctx, j, []error{err})
			continue
		}
		if len(starts) >= maxLate && !starts[late.Start] {
			return starts, late.Noted, nil
		}
		for start := late.Start; start.Equal(late.Start) || start.Before(late.End); start = start.Add(f.settings.Window) {
			if !start.Before(p.From) && start.Before(p.To) {
				starts[start] = true
			}
		}
	}
	return starts, before, nil
}

// foldNew folds the windows that have ended since the last run, and the minutes that they complete. It returns the
// number of windows.
func (f *folder) foldNew(ctx context.Context, j *journal, p *heat.Progress, now time.Time) (n int, err error) {
	until, err := f.complete(ctx, p.To, now)
	if err != nil {
		return 0, err
	}
	if most := p.To.Add(catchUp); until.After(most) {
		until = most
	}
	step := max(heat.ByMinute.Length(), f.settings.Hold)
	for p.To.Before(until) {
		end := heat.AlignDown(p.To, step).Add(step)
		if end.After(until) {
			end = until
		}
		windows, err := f.fold(ctx, j, heat.ByWindow, p.To, end)
		n += windows
		for _, layer := range []heat.Layer{heat.ByMinute, heat.ByTenMinutes} {
			for at := p.To.Truncate(layer.Length()); err == nil && !at.Add(layer.Length()).After(end); at = at.Add(layer.Length()) {
				_, err = f.fold(ctx, j, layer, at, at.Add(layer.Length()))
			}
		}
		if err != nil {
			return n, err
		}
		p.To = end
		if err := f.note(ctx, *p); err != nil {
			return n, err
		}
	}
	return n, nil
}

// complete returns the time up to which windows are complete, if those before from are.
func (f *folder) complete(ctx context.Context, from, now time.Time) (time.Time, error) {
	if f.settings.holds() { // as due has it
		return heat.AlignDown(now.Add(-idleTime-settleTime), f.settings.Hold), nil
	}
	reports := heat.Reports{Window: f.settings.Window, Ran: now}
	since := now.Add(-heat.Patience) // what ended earlier waits no longer
	if from.After(since) {
		since = from
	}
	for window, err := range f.heat.Alone(ctx, since.Add(-2*f.settings.Window), now) {
		if err != nil {
			return from, fmt.Errorf("hotkeys: reading which stream shards have reported: %w", err)
		}
		reports.Add(window.Items)
	}
	return reports.Complete(from, now, settleTime), nil
}

// fold puts the items of a time into a layer, from the layer below. It makes one item of each kind, or for windows one
// for each window. It returns the number of windows that it read.
func (f *folder) fold(ctx context.Context, j *journal, layer heat.Layer, from, to time.Time) (n int, err error) {
	below := f.heat.All(ctx, from, to)
	if layer > heat.ByWindow {
		below = f.heat.Layer(ctx, layer-1, from, to)
	}
	var group heat.Window
	for window, err := range below {
		if err != nil {
			return n, fmt.Errorf("hotkeys: reading items to fold: %w", err)
		}
		n++
		if layer == heat.ByWindow {
			if err := f.putLayer(ctx, j, layer, window); err != nil {
				return n, err
			}
			continue
		}
		group.Items = append(group.Items, window.Items...)
		group.Unreadable = append(group.Unreadable, window.Unreadable...)
	}
	group.Start = from
	return n, f.putLayer(ctx, j, layer, group)
}

// putLayer merges and stores one time. The result is incomplete if an item is unreadable.
func (f *folder) putLayer(ctx context.Context, j *journal, layer heat.Layer, window heat.Window) error {
	f.heat.unreadable(ctx, j, window.Unreadable)
	folded := layer.Fold(window.Items, window.Start)
	replaced := make([]*dynamodb.PutItemOutput, len(folded))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxPuts)
	for i := range folded {
		it := &folded[i]
		it.Incomplete = it.Incomplete || len(window.Unreadable) > 0
		group.Go(func() (err error) {
			stored := layer.Stored(it, it.End().Add(f.settings.HeatRetention))
			replaced[i], err = f.heat.client.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: &f.heat.Table, Item: stored,
				ConditionExpression:       aws.String("attribute_not_exists(pk) OR #records <= :records"),
				ExpressionAttributeNames:  map[string]string{"#records": "records"},
				ExpressionAttributeValues: map[string]types.AttributeValue{":records": stored["records"]},
				ReturnValues:              types.ReturnValueAllOld,
			})
			if _, newer := dynamo.ConditionFailed(err); err == nil || newer {
				return nil // another run has read more records
			}
			return fmt.Errorf("hotkeys: putting the layer's item of %s: %w", it.Start.Format(time.RFC3339), err)
		})
	}
	err := group.Wait()
	for i, out := range replaced {
		if out != nil && layer == heat.ByWindow {
			f.layerMetrics(j, &folded[i], out.Attributes)
		}
	}
	return err
}

// layerMetrics adds the sums of a window over all stream shards, by table. Of a window that was folded before, it adds
// what is new, so that each record is in the metrics once.
func (f *folder) layerMetrics(j *journal, it *heat.Item, replaced dynamo.Item) {
	table := it.Table
	if it.Own != "" {
		table = f.settings.names().Table(it.Own)
	}
	var before heat.Item // of another release, or none
	if replaced != nil {
		before, _ = heat.Parse(replaced)
	}
	if it.Records == before.Records {
		return
	}
	fastest := 0.0
	for _, row := range heat.Merge([]heat.Item{*it}) {
		fastest = max(fastest, row.WriteUnitsPerSecond)
	}
	j.data = append(j.data,
		datum(table, "WriteUnits", float64(it.Units)-float64(before.Units), metrics.Count, it.Start),
		datum(table, "Records", float64(it.Records)-float64(before.Records), metrics.Count, it.Start),
		datum(table, "MaxKeyWriteUnitsPerSecond", fastest, metrics.CountPerSecond, it.Start))
}

func (f *folder) note(ctx context.Context, p heat.Progress) error {
	if err := f.heat.put(ctx, p.Attributes()); err != nil {
		return fmt.Errorf("hotkeys: noting the progress of the layers: %w", err)
	}
	return nil
}
