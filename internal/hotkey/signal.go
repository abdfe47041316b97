package hotkey

import (
	"context"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/growth"
	"github.com/hotshard/hotshard/internal/heat"
)

// maxLogged bounds the hot keys that are logged for each window.
const maxLogged = 10

func (r *run) log(ctx context.Context, report *Report, hot []heat.Row) {
	for _, row := range hot[:min(len(hot), maxLogged)] {
		r.deps.Log.InfoContext(ctx, "hot key", "table", report.Table, "index", row.Index, "key", r.shownKey(&row),
			"status", row.Status.String(), "writeUnitsPerSecond", row.WriteUnitsPerSecond, "error", row.Error,
			"peak", row.Peak, "peakAt", row.PeakAt, "window", report.Item.Start, "hotKeys", len(hot),
			"advice", r.advice(ctx, &row))
	}
	if c := report.Item.Crowd(); c.Keys > 0 {
		r.deps.Log.InfoContext(ctx, "hot partition", "table", report.Table, "streamShard", report.Item.StreamShard,
			"warmKeys", c.Keys, "writeUnitsPerSecond", c.Rate, "window", report.Item.Start)
	}
}

// alarming is false if surely no key is hot.
func (w *window) alarming(s Settings) bool {
	budget := s.hotRate() * w.length.Seconds()
	return float64(w.sketch.Total()) >= budget || float64(w.indexes.Total()) >= budget
}

// alarm reports keys as soon as they are over a running window's budget, each once a
// window: with the delivery that took them over it, which before it were not. The
// window's own report follows when it ends.
func (r *run) alarm(ctx context.Context, before, running []Report) {
	known := make(map[partition]bool)
	for _, report := range before {
		for _, row := range report.hot() {
			known[partition{row.Index, row.Key}] = true
		}
	}
	for _, report := range running {
		fresh := slices.DeleteFunc(report.hot(), func(row heat.Row) bool { return known[partition{row.Index, row.Key}] })
		if len(fresh) > 0 {
			r.log(ctx, &report, fresh)
			r.addKeys(ctx, &report, fresh)
		}
	}
}

// shown is how log lines name a base key.
func (h *Handler) shown(name string) string { return h.settings.MetricNames.Shown(name) }

// shownKey is how log lines name a row: plainly by its partition key, else as its
// metrics do.
func (h *Handler) shownKey(row *heat.Row) string {
	if h.settings.MetricNames == heat.Plain {
		return row.Key
	}
	return h.shown(row.MetricName())
}

// doubt says that a window may have hot keys that are not named.
func (r *run) doubt(ctx context.Context, report *Report) {
	if !report.hides() {
		return
	}
	r.deps.Log.WarnContext(ctx, "hot keys may be hidden", "table", report.Table, "streamShard", report.Item.StreamShard,
		"window", report.Item.Start, "rest", report.Item.Rest, "indexRest", report.Item.IndexRest)
	r.events("UncertainWindows", 1)
}

// claimTime bounds how long the names of one report may keep a batch waiting.
const claimTime = 2 * time.Second

// addKeys adds the metrics of single keys, as far as they are named and within the
// budget of names.
func (r *run) addKeys(ctx context.Context, report *Report, rows []heat.Row) {
	if r.settings.MetricNames == heat.Unnamed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	r.data = append(r.data, report.keys(rows, func(row *heat.Row) (string, bool) {
		name := r.shown(row.MetricName())
		ok, err := r.budget.allow(ctx, r.source.Table+"/"+name, r.deps.Now())
		if err != nil {
			r.deps.Log.WarnContext(ctx, "budget of metric names unknown", "error", err)
		}
		return name, ok
	})...)
}

// sendTimeout bounds how long metrics may keep a batch waiting.
const sendTimeout = 5 * time.Second

// send is the last thing to do. It may fail: a batch must not be repeated for the
// sake of metrics, which would count twice then.
func (r *run) send(ctx context.Context) {
	r.data = append(r.data, r.ages.take(len(r.data) > 0, r.deps.Now(), tableDimension(r.source.Table))...)
	if len(r.data) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := r.deps.Metrics.Put(ctx, r.data); err != nil {
		r.deps.Log.WarnContext(ctx, "metrics not sent", "error", err)
	}
}

// adviceTime bounds how long a look-up may keep a batch waiting for the sake of a text.
const adviceTime = time.Second

// advice looks up how many write shards a row's base key has. Where that is not
// known, which is found out once an invocation, it is for a key with one.
func (r *run) advice(ctx context.Context, row *heat.Row) string {
	base, ok := row.Base()
	if !ok || r.blind {
		return row.Advice(1, time.Time{}, growth.Partitions)
	}
	ctx, cancel := context.WithTimeout(ctx, adviceTime)
	defer cancel()
	now := r.deps.Now()
	entry, err := r.deps.Shards.Lookup(ctx, base.String(), now)
	if r.blind = err != nil; r.blind {
		r.deps.Log.WarnContext(ctx, "shard counts unknown", "error", err)
	}
	return row.Advice(entry.History.Newest(), entry.Effective(), r.deps.Shards.Partitions(now))
}
