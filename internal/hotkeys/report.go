package hotkeys

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

const (
	maxPuts   = 8  // heat items that are written concurrently
	maxLogged = 10 // hot keys that are logged for each window
)

// reporter stores heat items, logs hot keys, and adds metrics.
type reporter struct {
	settings Settings
	heat     *table
}

// storeItems stores the windows that have ended, and the lists of held items. It fails if a heat item can't be put.
func (r *reporter) storeItems(ctx context.Context, j *journal, ended []window, held [][]heat.Item) error {
	group, puts := errgroup.WithContext(ctx)
	group.SetLimit(maxPuts)
	for i := range ended {
		group.Go(func() error {
			item := &ended[i].item
			return r.putItem(puts, j, []heat.Item{*item}, item.Stored)
		})
	}
	for _, items := range held {
		group.Go(func() error {
			for i := range items {
				items[i].Table, items[i].Own = tableOf(&j.source), j.source.Own
			}
			return r.putItem(puts, j, items, func(expires time.Time) dynamo.Item { return heat.StoredHeld(items, expires) })
		})
	}
	err := group.Wait()
	if err != nil {
		j.countEvents("HeatItemFailures", 1)
		j.ErrorContext(ctx, "heat item not written", "error", err)
	}
	return err
}

// reportHot logs and measures the hot keys of windows that have ended. Of running windows it reports the keys that became
// hot with this batch: runningBefore are the running windows as they were before the batch.
func (r *reporter) reportHot(ctx context.Context, j *journal, ended, running, runningBefore []window) {
	for i := range ended {
		w := &ended[i]
		hot := w.hot()
		r.logHot(ctx, j, w, hot)
		addHotMetrics(j, w, hot)
		if w.mayHideHot() {
			j.WarnContext(ctx, "hot keys may be hidden", "table", j.source.Table, "streamShard", w.item.StreamShard,
				"window", w.item.Start, "rest", w.item.Rest, "indexRest", w.item.IndexRest)
			j.countEvents("UncertainWindows", 1)
		}
	}
	for i := range running {
		if hot := newlyHot(&running[i], runningBefore); len(hot) > 0 {
			r.logHot(ctx, j, &running[i], hot)
		}
	}
}

// newlyHot returns the rows of a running window that were not hot before in the same window.
func newlyHot(w *window, before []window) []heat.KeyHeat {
	return slices.DeleteFunc(w.hot(), func(row heat.KeyHeat) bool {
		wasHot := func(r heat.KeyHeat) bool {
			return r.Status >= heat.Hot && r.Start.Equal(row.Start) && r.Index == row.Index && r.Key == row.Key
		}
		return slices.ContainsFunc(before, func(b window) bool { return slices.ContainsFunc(b.rows, wasHot) })
	})
}

// putItem puts the item that stored returns for the windows. If their minutes may have been folded, the item is a late item.
// If the put began in time, but may have ended after the fold's read, putItem also marks the windows as incomplete.
func (r *reporter) putItem(ctx context.Context, j *journal, windows []heat.Item, stored func(expires time.Time) dynamo.Item) error {
	first := &windows[0]
	item := stored(windows[len(windows)-1].End().Add(r.settings.HeatRetention))
	due := r.settings.storedBy(first.Start)
	var err error
	if j.now().After(due) {
		err = r.putLate(ctx, j, windows, item)
	} else {
		inTime, cancel := context.WithTimeout(ctx, due.Add(slowPut).Sub(j.now()))
		defer cancel()
		if err = r.heat.putItem(inTime, item); err == nil && j.now().After(due.Add(slowPut)) {
			err = r.markIncomplete(ctx, j, windows)
		}
	}
	if err != nil {
		return fmt.Errorf("hotkeys: storing the heat item of window %s, stream shard %q: %w",
			first.Start.Format(time.RFC3339), first.StreamShard, err)
	}
	return nil
}

// putLate puts a late item unless an earlier delivery has put an item with the same records. If the earlier item lacks some
// of the records, putLate marks the windows as incomplete instead.
func (r *reporter) putLate(ctx context.Context, j *journal, windows []heat.Item, item dynamo.Item) error {
	countsFirst, countsAll, err := r.heat.countsRecords(ctx, windows)
	switch {
	case err != nil || countsAll:
		return err
	case countsFirst:
		return r.markIncomplete(ctx, j, windows)
	}
	return r.storeLate(ctx, j, &windows[0], item)
}

// markIncomplete puts a late item without counts, which marks the windows as incomplete. It replaces no other item.
func (r *reporter) markIncomplete(ctx context.Context, j *journal, windows []heat.Item) error {
	var blank []heat.Item
	for _, w := range windows {
		blank = append(blank, heat.Item{
			Table: w.Table, Own: w.Own, Start: w.Start, Window: w.Window, StreamShard: w.StreamShard, Part: w.Part + "+", Limit: w.Limit, HotRate: w.HotRate, Incomplete: true,
		})
	}
	return r.storeLate(ctx, j, &blank[0], heat.StoredHeld(blank, windows[len(windows)-1].End().Add(r.settings.HeatRetention)))
}

// storeLate puts a late item. It first marks the block of the first window as incomplete if the block may have been
// folded.
func (r *reporter) storeLate(ctx context.Context, j *journal, first *heat.Item, item dynamo.Item) error {
	block := heat.AlignDown(first.Start, heat.Blocks.Length())
	if j.now().After(block.Add(r.settings.blockTime())) {
		if err := r.heat.putItem(ctx, heat.LateMark(first.Start, block.Add(heat.Blocks.Length()+r.settings.HeatRetention))); err != nil {
			return err
		}
	}
	first.MakeLate(item)
	return r.heat.putItem(ctx, item)
}

// logHot logs the hot keys of a window, which may still be running, and adds their metrics.
func (r *reporter) logHot(ctx context.Context, j *journal, w *window, hot []heat.KeyHeat) {
	for _, row := range hot[:min(len(hot), maxLogged)] {
		name := row.Key
		if r.settings.MetricNames != display.Plain {
			name = r.settings.MetricNames.Shown(row.MetricName())
		}
		line := j.With("table", j.source.Table, "index", row.Index, "key", name,
			"status", row.Status.String(), "writeUnitsPerSecond", row.WriteUnitsPerSecond, "error", row.Error,
			"peak", row.Peak, "peakAt", row.PeakAt, "window", w.item.Start, "hotKeys", len(hot))
		if j.source.Own == "" { // GET /v1/hot-keys has the advice for hotshard's own keys
			line = line.With("advice", row.Advice(&row, heat.Sharding{}))
		}
		line.InfoContext(ctx, "hot key")
	}
	r.addKeyMetrics(j, w, hot)
}

// addKeyMetrics adds a metric for each hot base key unless the settings forbid metrics of single keys. An hour of such a
// metric costs less than the writes that make a key hot.
func (r *reporter) addKeyMetrics(j *journal, w *window, hot []heat.KeyHeat) {
	if r.settings.MetricNames == display.Unnamed {
		return
	}
	sent := make(map[string]bool)
	for _, row := range hot {
		name := r.settings.MetricNames.Shown(row.MetricName())
		if sent[name] { // the hottest partition key of a base key came first
			continue
		}
		sent[name] = true
		j.addMetric("KeyWriteUnitsPerSecond", row.WriteUnitsPerSecond, unitCountPerSecond, w.item.Start, dimension("Key", name))
	}
}

// addHotMetrics adds the numbers of hot and of saturated keys, if the window has a hot key.
func addHotMetrics(j *journal, w *window, hot []heat.KeyHeat) {
	if len(hot) == 0 {
		return
	}
	saturated := 0.0
	for _, row := range hot {
		if row.Status == heat.Saturated {
			saturated++
		}
	}
	j.addMetric("HotKeys", float64(len(hot)), unitCount, w.item.Start)
	j.addMetric("SaturatedKeys", saturated, unitCount, w.item.Start)
}
