package hotkeys

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/base/metrics"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

const (
	maxPuts    = 8               // heat items that are written concurrently
	maxLogged  = 10              // hot keys that are logged for each window
	claimTime  = 2 * time.Second // bounds how long the metric names of one report may delay a batch
	adviceTime = time.Second     // bounds how long the lookup for an advice may delay a batch
)

// reporter stores reports as heat items, and logs and measures them.
type reporter struct {
	settings Settings
	heat     *table
	shards   Shards    // nil for a table without write shards
	adoption *adoption // nil for none
	budget   *budget
}

// report stores and reports the windows that have ended, and stores lists of held ones. It fails only if a heat item is
// not written.
func (r *reporter) report(ctx context.Context, j *journal, reports []Report, held [][]heat.Item) error {
	group, puts := errgroup.WithContext(ctx)
	group.SetLimit(maxPuts)
	for i := range reports {
		group.Go(func() error {
			item := &reports[i].Item
			item.Lag = max(0, j.now().Sub(item.End()))
			return r.store(puts, j, item, item, item.Stored(item.End().Add(r.settings.HeatRetention)))
		})
	}
	for _, items := range held {
		group.Go(func() error {
			for i := range items {
				items[i].Table, items[i].Own = tableOf(&j.source), j.source.Own
			}
			first, last := &items[0], &items[len(items)-1]
			return r.store(puts, j, first, last, heat.StoredHeld(items, j.now(), last.End().Add(r.settings.HeatRetention)))
		})
	}
	if err := group.Wait(); err != nil {
		j.events("HeatItemFailures", 1)
		j.ErrorContext(ctx, "heat item not written", "error", err)
		return err
	}
	for i := range reports {
		r.reportHot(ctx, j, &reports[i])
		hotMetrics(j, &reports[i])
		if item := &reports[i].Item; reports[i].mayHideHot() {
			j.WarnContext(ctx, "hot keys may be hidden", "table", j.source.Table, "streamShard", item.StreamShard,
				"window", item.Start, "rest", item.Rest, "indexRest", item.IndexRest)
			j.events("UncertainWindows", 1)
		}
	}
	return nil
}

// store puts a heat item with some windows. It adds a note if they may have been folded already.
func (r *reporter) store(ctx context.Context, j *journal, first, last *heat.Item, stored dynamo.Item) error {
	err := r.heat.put(ctx, stored)
	if now := j.now(); err == nil && now.After(r.settings.due(first.Start)) {
		err = r.heat.put(ctx, first.LateNote(last.End(), now, now.Add(r.settings.HeatRetention)))
	}
	if err != nil {
		return fmt.Errorf("hotkeys: putting the heat item of window %s, stream shard %q: %w",
			first.Start.Format(time.RFC3339), first.StreamShard, err)
	}
	return nil
}

// reportHot reports the hot keys of a window, which may still be running.
func (r *reporter) reportHot(ctx context.Context, j *journal, report *Report) {
	for _, row := range report.Hot[:min(len(report.Hot), maxLogged)] {
		name := row.Key
		if r.settings.MetricNames != keyname.Plain {
			name = r.settings.displayName(row.MetricName())
		}
		j.InfoContext(ctx, "hot key", "table", j.source.Table, "index", row.Index, "key", name,
			"status", row.Status.String(), "writeUnitsPerSecond", row.WriteUnitsPerSecond, "error", row.Error,
			"peak", row.Peak, "peakAt", row.PeakAt, "window", report.Item.Start, "hotKeys", len(report.Hot),
			"advice", r.advice(ctx, j, &row))
	}
	if c := report.Item.Crowd(); c.Keys > 0 {
		j.InfoContext(ctx, "hot partition", "table", j.source.Table, "streamShard", report.Item.StreamShard,
			"warmKeys", c.Keys, "writeUnitsPerSecond", c.Rate, "window", report.Item.Start)
	}
	r.keyMetrics(ctx, j, report)
}

// keyMetrics adds the metrics of single hot keys, if keys are named and the budget of names allows it.
func (r *reporter) keyMetrics(ctx context.Context, j *journal, report *Report) {
	if r.settings.MetricNames == keyname.Unnamed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	sent := make(map[string]bool)
	for _, row := range report.Hot {
		// The hottest partition key of a base key comes first and represents it.
		name := r.settings.displayName(row.MetricName())
		if sent[name] {
			continue
		}
		sent[name] = true
		ok, err := r.budget.allow(ctx, j.source.Table+"/"+name, j.now())
		if err != nil {
			j.WarnContext(ctx, "budget of metric names unknown", "error", err)
		}
		if ok {
			j.datum("KeyWriteUnitsPerSecond", row.WriteUnitsPerSecond, metrics.CountPerSecond, report.Item.Start, metrics.Dimension{Name: "Key", Value: name})
		}
	}
}

// hotMetrics adds the metrics of a window that is hot, at its start time, except those of single keys. The layers task
// sends the sums of all windows, see [layerMetrics].
func hotMetrics(j *journal, r *Report) {
	crowd := r.Item.Crowd()
	if len(r.Hot) == 0 && crowd.Keys == 0 {
		return
	}
	saturated := 0.0
	for _, row := range r.Hot {
		if row.Status == heat.Saturated {
			saturated++
		}
	}
	j.datum("HotKeys", float64(len(r.Hot)), metrics.Count, r.Item.Start)
	j.datum("SaturatedKeys", saturated, metrics.Count, r.Item.Start)
	j.datum("HotPartitions", float64(min(crowd.Keys, 1)), metrics.Count, r.Item.Start)
}

// advice returns the advice for a row's base key and its write shards. If the shard map can't be read, it assumes one
// write shard for the rest of the invocation.
func (r *reporter) advice(ctx context.Context, j *journal, row *heat.KeyHeat) string {
	base, ok := row.Base()
	n := 0
	if r.adoption != nil {
		var w writeShard
		w, ok = r.adoption.shardOf(row, row.Start)
		base, n = w.base, w.n
	}
	if !ok || j.blind {
		return row.Advice(1, shard.Change{}, shardmap.FewPartitions)
	}
	ctx, cancel := context.WithTimeout(ctx, adviceTime)
	defer cancel()
	entry, err := r.shards.Lookup(ctx, base.String(), j.now())
	if err != nil {
		j.blind = true
		j.WarnContext(ctx, "shard counts unknown", "error", err)
	}
	if n >= entry.Most() && r.adoption != nil { // a name that only looks like a write shard
		base.Type = ""
	}
	return row.AdviceAs(base.Type, entry.History.Newest(), heat.NewestGrowth(entry.History), r.shards.Partitions(cmp.Or(j.source.Own, j.source.Table)))
}
