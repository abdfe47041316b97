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
	// foldDelay is the time between a window's end and the fold of its minute. The fold has each item whose put began within
	// [heat.OnTime] and took up to slowPut, if clocks differ by less than the other 3 s.
	foldDelay = 10 * time.Second
	slowPut   = 2 * time.Second

	// maxFoldRange bounds the length of the time range that one run folds after an outage.
	maxFoldRange = 10 * time.Minute

	// streamRetention is how long DynamoDB keeps a stream's records.
	streamRetention = 24 * time.Hour
)

// folder is the scheduled task that folds heat items. It puts each minute and each block when their items no longer change,
// so a run that repeats another one puts the same items.
type folder struct {
	settings Settings
	heat     *table
	mu       sync.Mutex // locked while the task runs
}

// folding is one run of the task, with the progress that it has made.
type folding struct {
	*folder
	*journal
	heat.Progress
	answer heatAnswer
}

// task folds what is due, and returns the [heatAnswer]. If another run overtakes this one, task ends without an error.
func (f *folder) task(ctx context.Context, j *journal) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := j.now().UTC()
	p, err := f.loadProgress(ctx, j, now)
	if err != nil {
		return nil, err
	}
	r := &folding{folder: f, journal: j, Progress: p}
	r.Read, r.Ran, r.Window, r.Hold = f.readSince(p, now), now, f.settings.Window, f.settings.Hold
	r.updateHeld()
	err = r.foldAll(ctx, now)
	if _, overtaken := dynamo.ConditionFailed(err); overtaken {
		j.InfoContext(ctx, "another run of the heat task goes on")
	} else if err != nil {
		return nil, err
	}
	// An alarm fires if this line is missing.
	j.InfoContext(ctx, "heat task done", "windows", r.answer.Windows, "blocks", r.answer.Blocks, "upTo", r.To)
	return json.Marshal(r.answer)
}

// foldAll folds the minutes and blocks that are due. It first stores the progress, because readers find held items by
// [heat.Progress.Held].
func (r *folding) foldAll(ctx context.Context, now time.Time) error {
	if err := r.putProgress(ctx); err != nil {
		return err
	}
	step := max(time.Minute, r.settings.Hold)
	for until := heat.MinTime(r.settings.minutesDue(now), r.To.Add(maxFoldRange)); r.To.Before(until); {
		end := heat.MinTime(heat.AlignDown(r.To, step).Add(step), until)
		if err := r.foldMinutes(ctx, r.To, end); err != nil {
			return err
		}
		r.To = end
		if err := r.putProgress(ctx); err != nil {
			return err
		}
	}
	for n := 0; n < maxBlocks && r.blockDue(now); n++ {
		if err := r.foldBlock(ctx); err != nil {
			return err
		}
		r.Blocks = r.Blocks.Add(heat.Blocks.Length())
		if err := r.putProgress(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxBlocks bounds the blocks of a run.
const maxBlocks = 3

// blockDue reports whether the next block's minutes are folded, and its items no longer change. Puts take less than an
// interval of the task, and clocks differ by less than another.
func (r *folding) blockDue(now time.Time) bool {
	return !r.Blocks.Add(heat.Blocks.Length()).After(r.To) && now.After(r.Blocks.Add(r.settings.blockTime()+2*HeatInterval))
}

// minutesDue returns the time up to which minutes may be folded at now. Items of windows that ended foldDelay earlier have
// been put, unless they are late. The items of held windows are put up to idleTime after the end of the Hold.
func (s Settings) minutesDue(now time.Time) time.Time {
	if s.holds() {
		return heat.AlignDown(now.Add(-idleTime-foldDelay), s.Hold).Truncate(time.Minute)
	}
	return heat.AlignDown(now.Add(-foldDelay), s.Window).Truncate(time.Minute)
}

// updateHeld sets Held to this run's Hold ([heat.NeverHeld] for none), or to [heat.MaxHold] if an earlier run had another.
func (r *folding) updateHeld() {
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

// loadProgress returns the stored progress. If there is none, or its items have expired, it returns a progress that begins
// ten minutes ago.
func (f *folder) loadProgress(ctx context.Context, j *journal, now time.Time) (heat.Progress, error) {
	p, err := f.heat.Progress(ctx)
	if err != nil {
		return p, fmt.Errorf("hotkeys: %w", err)
	}
	if p.To.Before(now.Add(-f.settings.HeatRetention)) {
		j.InfoContext(ctx, "folds of heat begin")
		first := now.Add(-maxFoldRange).Truncate(heat.Blocks.Length()) // so that the first block is whole
		p = heat.Progress{From: first, To: first, Blocks: first, Ran: p.Ran, Held: p.Held, Puts: p.Puts, Read: heat.AlignDown(now.Add(-foldDelay), f.settings.Window)}
	}
	return p, nil
}

// readSince returns the time since which a window without an item had no writes. Before it, items may have expired, or the
// stream may have lost records during an outage.
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

// foldMinutes folds the items of the minutes between from and to that were put in time. It puts each minute, also a minute
// without items.
func (r *folding) foldMinutes(ctx context.Context, from, to time.Time) error {
	minutes := make(map[time.Time]*heat.Span)
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		minutes[at] = &heat.Span{Start: at}
	}
	for w, err := range r.heat.Prompt(ctx, r.Progress, from, to) {
		if err != nil {
			return fmt.Errorf("hotkeys: reading the items to fold since %s: %w", from.Format(time.RFC3339), err)
		}
		start := heat.MinTime(w.Start, to.Add(-1)) // an item without a time is in a window at to
		r.addWindow(ctx, minutes[start.Truncate(time.Minute)], w)
		r.answer.Windows++
	}
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		if err := r.putSpan(ctx, heat.Minutes, minutes[at]); err != nil {
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
			return fmt.Errorf("hotkeys: reading the minutes to fold into the block of %s: %w", r.Blocks.Format(time.RFC3339), err)
		}
		r.addWindow(ctx, block, w)
	}
	block.Windows = heat.FoldAll(block.Windows, block.Start, heat.Blocks.Length())
	r.answer.Blocks++
	return r.putSpan(ctx, heat.Blocks, block)
}

// addWindow folds a window's items into one for each table, and adds them to a minute or a block.
func (r *folding) addWindow(ctx context.Context, span *heat.Span, w heat.Window) {
	r.heat.logUnreadable(ctx, r.journal, w.Unreadable)
	span.Windows = append(span.Windows, heat.FoldAll(w.Items, w.Start, 0)...)
	span.Incomplete = span.Incomplete || len(w.Unreadable) > 0
}

// putSpan stores a minute or a block.
func (r *folding) putSpan(ctx context.Context, series heat.Series, span *heat.Span) error {
	if err := r.heat.putItem(ctx, series.Stored(span, span.Start.Add(series.Length()+r.settings.HeatRetention))); err != nil {
		return fmt.Errorf("hotkeys: storing the folded heat of %s in table %s: %w", span.Start.Format(time.RFC3339), r.heat.Table, err)
	}
	return nil
}

// putProgress stores the progress. The put's condition fails if another run has stored its progress since the last put.
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
		return fmt.Errorf("hotkeys: storing the item %q in table %s: %w", heat.ProgressPartition, r.heat.Table, err)
	}
	return nil
}
