package hotkey

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/heat"
)

// LayersTask is the payload that a schedule hands to [Handler.Invoke] every
// [LayersInterval], or more often: an object with this one member. The answer is
//
//	{"windows":6,"late":0}
//
// the windows that were folded, and those of them that had been folded before.
const LayersTask = `{"task":"layers"}`

// LayersInterval is how often the task is to run in a deployment. Readers of heat read the
// items of all stream shards since its last run.
const LayersInterval = time.Minute

// folded is the task's answer.
type folded struct {
	Windows int `json:"windows"`
	Late    int `json:"late"`
}

const (
	// settleTime is how long after its end a window is folded. An item that is put within
	// lateTime is in the fold then, unless clocks differ by more than what lies between.
	// Whoever puts one later notes it, and the next run folds the window again.
	settleTime = 10 * time.Second
	lateTime   = 5 * time.Second

	// catchUp bounds the time whose windows one run folds, beside the minute since the last
	// one. After an outage of the task ten minutes are caught up in each.
	catchUp = 10 * time.Minute

	// maxLate bounds the windows that one run folds again.
	maxLate = 60
)

// folder is the scheduled task that puts heat items together as layers. What it puts
// depends on what it reads alone, under keys that depend on the time alone. So two that run
// at once do no harm: of two items under one key that with more records stays.
type folder struct {
	settings Settings
	heat     *table
	mu       sync.Mutex // is held while it runs
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
	var answer folded
	if answer.Late, err = f.again(ctx, j, &p, now.Add(-settleTime)); err != nil {
		return nil, err
	}
	if answer.Windows, err = f.onward(ctx, j, &p, now); err != nil {
		return nil, err
	}
	answer.Windows += answer.Late
	// An alarm waits for this line.
	j.InfoContext(ctx, "layers task done", "windows", answer.Windows, "late", answer.Late, "upTo", p.To)
	return json.Marshal(answer)
}

// begin returns the progress. Where there is none, or none of items that are still there,
// the layers begin ten minutes ago.
func (f *folder) begin(ctx context.Context, j *journal, now time.Time) (heat.Progress, error) {
	p, err := f.heat.Progress(ctx)
	if err != nil {
		return p, fmt.Errorf("hotkey: %w", err)
	}
	if p.To.Before(now.Add(-f.settings.HeatRetention)) {
		j.InfoContext(ctx, "layers begin")
		first := now.Add(-catchUp).Truncate(heat.ByTenMinutes.Length()) // so that no layer has a part of one
		p = heat.Progress{From: first, To: first, Late: now.Add(-settleTime)}
	}
	return p, nil
}

// again folds the windows again to which items came late, as far as that was noted before a
// time, and the minutes that they are in. It returns how many they are.
func (f *folder) again(ctx context.Context, j *journal, p *heat.Progress, before time.Time) (int, error) {
	starts, upTo, err := f.late(ctx, j, *p, before)
	if err != nil {
		return 0, err
	}
	for start := range starts {
		if _, err := f.fold(ctx, j, heat.ByWindow, start, start.Add(time.Millisecond)); err != nil {
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

// late lists the starts of the windows that are in the layers and to which items came late,
// and up to when that was noted. There may be some more to come.
func (f *folder) late(ctx context.Context, j *journal, p heat.Progress, before time.Time) (starts map[time.Time]bool, upTo time.Time, err error) {
	starts = make(map[time.Time]bool)
	for item, err := range f.heat.items(ctx, heat.LatePartition, p.Late, before) {
		if err != nil {
			return nil, upTo, fmt.Errorf("hotkey: reading what came late: %w", err)
		}
		late, err := heat.ParseLate(item)
		if err != nil {
			f.heat.unreadable(ctx, j, []error{err})
			continue
		}
		if len(starts) == maxLate && !starts[late.Start] {
			return starts, late.Noted, nil
		}
		if !late.Start.Before(p.From) && late.Start.Before(p.To) {
			starts[late.Start] = true
		}
	}
	return starts, before, nil
}

// onward folds the windows that have ended since, and the minutes that these complete. It
// returns how many windows they are.
func (f *folder) onward(ctx context.Context, j *journal, p *heat.Progress, now time.Time) (n int, err error) {
	minute := heat.ByMinute.Length()
	until := now.Add(-settleTime - f.settings.Window).Truncate(time.Millisecond)
	if most := p.To.Add(catchUp); until.After(most) {
		until = most
	}
	for p.To.Before(until) {
		end := p.To.Add(minute).Truncate(minute)
		if end.After(until) {
			end = until
		}
		windows, err := f.fold(ctx, j, heat.ByWindow, p.To, end)
		n += windows
		for _, layer := range []heat.Layer{heat.ByMinute, heat.ByTenMinutes} {
			if start := end.Add(-layer.Length()); err == nil && end.Equal(end.Truncate(layer.Length())) {
				_, err = f.fold(ctx, j, layer, start, end)
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

// fold puts what lies in a time into a layer, out of the one below it: that is one of the
// layer's items, of each kind, and of windows each their own. It returns how many windows
// there were.
func (f *folder) fold(ctx context.Context, j *journal, layer heat.Layer, from, to time.Time) (n int, err error) {
	below := f.heat.All(ctx, from, to)
	if layer > heat.ByWindow {
		below = f.heat.Layer(ctx, layer-1, from, to)
	}
	var group heat.Window
	for window, err := range below {
		if err != nil {
			return n, fmt.Errorf("hotkey: reading what is to be folded: %w", err)
		}
		n++
		if layer == heat.ByWindow {
			if err := f.put(ctx, j, layer, window); err != nil {
				return n, err
			}
			continue
		}
		group.Items = append(group.Items, window.Items...)
		group.Unreadable = append(group.Unreadable, window.Unreadable...)
	}
	group.Start = from
	return n, f.put(ctx, j, layer, group)
}

// put folds and stores one time. What lacks an item that can't be read is incomplete.
func (f *folder) put(ctx context.Context, j *journal, layer heat.Layer, window heat.Window) error {
	f.heat.unreadable(ctx, j, window.Unreadable)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxPuts)
	for _, it := range layer.Fold(window.Items, window.Start) {
		it.Incomplete = it.Incomplete || len(window.Unreadable) > 0
		group.Go(func() error {
			stored := layer.Stored(&it, it.End().Add(f.settings.HeatRetention))
			_, err := f.heat.client.PutItem(ctx, &dynamodb.PutItemInput{
				TableName: &f.heat.Table, Item: stored,
				ConditionExpression:       aws.String("attribute_not_exists(pk) OR #records <= :records"),
				ExpressionAttributeNames:  map[string]string{"#records": "records"},
				ExpressionAttributeValues: map[string]types.AttributeValue{":records": stored["records"]},
			})
			if _, newer := dynamo.ConditionFailed(err); err == nil || newer {
				return nil // another run has read more
			}
			return fmt.Errorf("hotkey: putting the layer's item of %s: %w", it.Start.Format(time.RFC3339), err)
		})
	}
	return group.Wait()
}

func (f *folder) note(ctx context.Context, p heat.Progress) error {
	if err := f.heat.put(ctx, p.Attributes()); err != nil {
		return fmt.Errorf("hotkey: noting the progress of the layers: %w", err)
	}
	return nil
}
