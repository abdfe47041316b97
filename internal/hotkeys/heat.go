package hotkeys

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// HeatTask is the payload with which a schedule invokes [Handler.Invoke] every [HeatInterval]. The answer is
// {"windows":6,"blocks":0}: the number of folded windows of minutes, and of folded blocks.
const HeatTask = `{"task":"heat"}`

// HeatInterval is the time between two runs of the heat task. For the time since the last run, readers of heat read
// the items of all stream shards.
const HeatInterval = time.Minute

// heatAnswer is the JSON of the task's answer.
type heatAnswer struct {
	Windows int `json:"windows"`
	Blocks  int `json:"blocks"`
}

const (
	// settleTime is the time between a window's end and the fold of its minute. An item that was put within
	// [heat.OnTime] is in the fold, if its put takes up to slowPut and clocks differ by the rest.
	settleTime = 10 * time.Second
	slowPut    = 2 * time.Second

	// catchUp bounds the length of the time range that one run folds after an outage.
	catchUp = 10 * time.Minute

	// streamRetention is how long DynamoDB keeps a stream's records.
	streamRetention = 24 * time.Hour
)

// folder is the scheduled task that folds heat items. Each minute and each block is put when its items no longer change,
// so a run that repeats another one puts the same.
type folder struct {
	settings Settings
	heat     *table
	mu       sync.Mutex // locked while the task runs
}

// folding is a run of the task.
type folding struct {
	*folder
	*journal
	heat.Progress
	answer heatAnswer
}

func (f *folder) task(ctx context.Context, j *journal) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := j.now().UTC()
	p, err := f.begin(ctx, j, now)
	if err != nil {
		return nil, err
	}
	r := &folding{folder: f, journal: j, Progress: p}
	r.Read, r.Ran, r.Window, r.Hold = f.readSince(p, now), now, f.settings.Window, f.settings.Hold
	r.noteHold()
	err = r.foldAll(ctx, now)
	if _, overtaken := dynamo.ConditionFailed(err); overtaken {
		j.InfoContext(ctx, "another run of the heat task goes on")
	} else if err != nil {
		return nil, err
	}
	// An alarm waits for this line.
	j.InfoContext(ctx, "heat task done", "windows", r.answer.Windows, "blocks", r.answer.Blocks, "upTo", r.To)
	return json.Marshal(r.answer)
}

// foldAll folds what is due, and sends the sums. It first stores the progress, because readers find held items by
// [heat.Progress.Held].
func (r *folding) foldAll(ctx context.Context, now time.Time) error {
	if err := r.putProgress(ctx); err != nil {
		return err
	}
	step := max(time.Minute, r.settings.Hold)
	for until := earlier(r.settings.foldedBy(now), r.To.Add(catchUp)); r.To.Before(until); {
		end := earlier(heat.AlignDown(r.To, step).Add(step), until)
		if err := r.foldMinutes(ctx, r.To, end); err != nil {
			return err
		}
		r.To = end
		if err := r.putProgress(ctx); err != nil {
			return err
		}
	}
	for n := 0; n < blocksEach && r.blockDue(now); n++ {
		if err := r.foldBlock(ctx); err != nil {
			return err
		}
		r.Blocks = r.Blocks.Add(heat.Blocks.Length())
		if err := r.putProgress(ctx); err != nil {
			return err
		}
	}
	return r.queueSums(ctx, earlier(r.To, heat.AlignDown(now.Add(-idleTime-settleTime), time.Minute)))
}

// blocksEach bounds the blocks of a run.
const blocksEach = 3

// blockDue reports whether the next block's items no longer change. Puts take less than an interval of the task, and
// clocks differ by less than another.
func (r *folding) blockDue(now time.Time) bool {
	return !r.Blocks.Add(heat.Blocks.Length()).After(r.To) && now.After(r.Blocks.Add(r.settings.blockTime()+2*HeatInterval))
}

// foldedBy returns the end of the minutes that may be folded at now. All their items that are in time have been put.
func (s Settings) foldedBy(now time.Time) time.Time {
	ended := heat.AlignDown(now.Add(-settleTime), s.Window)
	if s.holds() { // quiet windows are put by then: see storedBy
		ended = heat.AlignDown(now.Add(-idleTime-settleTime), s.Hold)
	}
	return ended.Truncate(time.Minute)
}

// noteHold sets Held, by this run's Hold.
func (r *folding) noteHold() {
	hold := heat.NeverHeld
	if r.settings.holds() {
		hold = r.settings.Hold
	}
	if r.Held == 0 {
		r.Held = hold
	} else if r.Held != hold {
		r.Held = heat.MaxHold
	}
}

// begin returns the stored progress. If there is none, or its items have expired, folds begin ten minutes ago.
func (f *folder) begin(ctx context.Context, j *journal, now time.Time) (heat.Progress, error) {
	p, err := f.heat.Progress(ctx)
	if err != nil {
		return p, fmt.Errorf("hotkeys: %w", err)
	}
	if p.To.Before(now.Add(-f.settings.HeatRetention)) {
		j.InfoContext(ctx, "folds of heat begin")
		first := now.Add(-catchUp).Truncate(heat.Blocks.Length()) // so that the first block is whole
		p = heat.Progress{From: first, To: first, Blocks: first, Sums: first, Ran: p.Ran, Held: p.Held, Puts: p.Puts, Read: heat.AlignDown(now.Add(-settleTime), f.settings.Window)}
	}
	return p, nil
}

// readSince returns the time from which a window without an item had no writes. Items before it may have expired, or an
// outage may have outlasted the stream's records.
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

// foldMinutes folds the items of whole minutes that were put in time, and puts each minute, also one without items.
func (r *folding) foldMinutes(ctx context.Context, from, to time.Time) error {
	minutes := make(map[time.Time]*heat.Span)
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		minutes[at] = &heat.Span{Start: at}
	}
	for w, err := range r.heat.Prompt(ctx, r.Progress, from, to) {
		if err != nil {
			return fmt.Errorf("hotkeys: reading items to fold: %w", err)
		}
		minute := minutes[earlier(w.Start, to.Add(-1)).Truncate(time.Minute)] // an item without a time is in a window at to
		r.add(ctx, minute, w)
		r.answer.Windows++
	}
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		if err := r.put(ctx, heat.Minutes, minutes[at]); err != nil {
			return err
		}
	}
	return nil
}

// foldBlock folds the minutes and late items of the next block.
func (r *folding) foldBlock(ctx context.Context) error {
	block := &heat.Span{Start: r.Blocks}
	for w, err := range r.heat.Folded(ctx, r.Progress, r.Blocks, r.Blocks.Add(heat.Blocks.Length())) {
		if err != nil {
			return fmt.Errorf("hotkeys: reading minutes to fold: %w", err)
		}
		r.add(ctx, block, w)
	}
	block.Windows = heat.FoldAll(block.Windows, block.Start, heat.Blocks.Length())
	r.answer.Blocks++
	return r.put(ctx, heat.Blocks, block)
}

// add folds a window's items into one for each table.
func (r *folding) add(ctx context.Context, x *heat.Span, w heat.Window) {
	r.heat.logUnreadable(ctx, r.journal, w.Unreadable)
	x.Windows = append(x.Windows, heat.FoldAll(w.Items, w.Start, 0)...)
	x.Incomplete = x.Incomplete || len(w.Unreadable) > 0
}

func (r *folding) put(ctx context.Context, series heat.Series, x *heat.Span) error {
	if err := r.heat.putItem(ctx, series.Stored(x, x.Start.Add(series.Length()+r.settings.HeatRetention))); err != nil {
		return fmt.Errorf("hotkeys: putting the folded item of %s: %w", x.Start.Format(time.RFC3339), err)
	}
	return nil
}

// putProgress stores the progress. If another run has stored its own meanwhile, the condition fails.
func (r *folding) putProgress(ctx context.Context) error {
	seen := dynamo.Number(int64(r.Puts))
	r.Puts++
	item := r.Attributes()
	_, err := r.heat.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &r.heat.Table, Item: item,
		ConditionExpression:       aws.String("attribute_not_exists(pk) OR v <> :v OR puts = :seen"),
		ExpressionAttributeValues: dynamo.Item{":v": item["v"], ":seen": seen},
	})
	if err != nil {
		return fmt.Errorf("hotkeys: storing the progress of the folds: %w", err)
	}
	return nil
}

// queueSums queues the metrics of the windows from r.Sums up to a time, at least [idleTime] ago, so that late items are
// in them. It stores the progress first, so that each record is in the metrics at most once.
func (r *folding) queueSums(ctx context.Context, to time.Time) error {
	from := r.Sums
	if !from.Before(to) {
		return nil
	}
	var data []Datum
	for w, err := range r.heat.Folded(ctx, r.Progress, from, to) {
		if err != nil {
			return fmt.Errorf("hotkeys: reading minutes for metrics: %w", err)
		}
		for i := range w.Items {
			data = append(data, r.settings.sums(&w.Items[i])...)
		}
	}
	r.Sums = to
	err := r.putProgress(ctx)
	if err == nil {
		r.data = append(r.data, data...)
	}
	return err
}

// sums returns the metrics of a window of all stream shards.
func (s Settings) sums(it *heat.Item) []Datum {
	table := it.Table
	if it.Own != "" {
		table = s.names().Table(it.Own)
	}
	fastest := 0.0
	for _, row := range heat.Merge([]heat.Item{*it}) {
		fastest = max(fastest, row.WriteUnitsPerSecond)
	}
	return []Datum{
		tableMetric(table, "WriteUnits", float64(it.Units), unitCount, it.Start),
		tableMetric(table, "Records", float64(it.Records), unitCount, it.Start),
		tableMetric(table, "MaxKeyWriteUnitsPerSecond", fastest, unitCountPerSecond, it.Start),
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
