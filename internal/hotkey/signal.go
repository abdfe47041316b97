package hotkey

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
)

// maxLogged bounds the hot keys that are logged for each window.
const maxLogged = 10

func (r *run) log(ctx context.Context, report *Report) {
	hot := report.hot()
	for _, row := range hot[:min(len(hot), maxLogged)] {
		r.deps.Log.InfoContext(ctx, "hot key", "table", report.Table, "index", row.Index, "key", row.Key,
			"writeUnitsPerSecond", row.WriteUnitsPerSecond, "error", row.Error, "peak", row.Peak,
			"window", report.Item.Start, "hotKeys", len(hot), "advice", row.Advice(r.shards(ctx, &row)))
	}
}

func (r *run) allow(base string) bool { return r.budget.allow(base, r.deps.Now()) }

// sendTimeout bounds how long metrics may keep a batch waiting.
const sendTimeout = 5 * time.Second

// send is the last thing to do. It may fail: a batch must not be repeated for the
// sake of metrics, which would count twice then.
func (r *run) send(ctx context.Context) {
	if len(r.data) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := r.deps.Metrics.Put(ctx, r.data); err != nil {
		r.deps.Log.WarnContext(ctx, "metrics not sent", "error", err)
	}
}

// shards is how many write shards a row's base key has; 1 if it has none or that is
// not known.
func (r *run) shards(ctx context.Context, row *heat.Row) int {
	base, ok := row.Base()
	if !ok {
		return 1
	}
	entry, err := r.deps.Shards.Lookup(ctx, base.String(), r.deps.Now())
	if err != nil {
		r.deps.Log.WarnContext(ctx, "shard count unknown", "error", err)
		return 1
	}
	return entry.History.Newest()
}
