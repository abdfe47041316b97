package query

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/memo"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Heat answers what is hot, from any source of heat.
//
//	heat := query.NewHeat(source, query.HeatOptions{Table: "orders", Deadline: 5 * time.Second, Now: time.Now})
//	http.ListenAndServe(addr, httpapi.New(log, query.HeatRoutes(heat)))
type Heat struct {
	source heat.Source
	o      HeatOptions
	noted  noted

	layouts memo.Memo[*layout]
}

// HeatOptions configure a [Heat]. Deadline and Now are required.
type HeatOptions struct {
	Shards   ShardCounts   // nil if no key has write shards
	Table    string        // default table of a request; "" for hotshard's own
	Deadline time.Duration // bounds the work for one request
	Now      func() time.Time
}

// ShardCounts has the reads of the shard map; [*shardmap.Map] implements it.
type ShardCounts interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Since(ctx context.Context, t, now time.Time) ([]shardmap.Entry, error)
	Read(ctx context.Context, key string) (shardmap.Entry, error)
	Partitions(table string) int
}

// NewHeat returns a Heat.
func NewHeat(source heat.Source, o HeatOptions) *Heat {
	return &Heat{source, o, newNoted(), memo.New[*layout](maxLayouts)}
}

// HeatRoutes registers the calls of a Heat.
func HeatRoutes(h *Heat) httpapi.Routes {
	return func(api *httpapi.API) {
		c := calls{api, h.o.Deadline, h.o.Now}
		get(c, httpapi.ForOperators, "/v1/hot-keys", "list-hot-keys", "Name the hottest keys",
			"The keys with the highest write rates of the time before now, each base key once: those first that are hot now. Each has its rates at its peak and now, and what to do about it.", h.listHotKeys)
		get(c, httpapi.ForOperators, "/v1/heat", "get-heat", "Read the heat of keys over time",
			"A matrix of keys and times: which key took how many write units when. Keys that were hot in the time have a row each, and the others are merged into ranges by common prefix. A poll that sends the layout of the last full answer gets the newest columns only.", h.getHeat)
	}
}

// maxHotRows bounds the hottest keys that are kept while reading a day's heat items, each about 300
// bytes.
const maxHotRows = 10_000

// maxFull bounds the windows that one answer reads in full.
const maxFull = 4

// resolution returns the window length to read a time by, if there are such windows: about 150
// windows or fewer.
func resolution(since time.Duration) time.Duration {
	switch {
	case since <= 30*time.Minute:
		return time.Second
	case since <= 3*time.Hour:
		return time.Minute
	}
	return 10 * time.Minute
}

// full is a source with layers that also has the windows' own items.
type full interface {
	All(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error]
}

// hottest returns the hottest keys of a time up to now, each base key once, currently hot keys
// first. If layers lack details of hot keys, it reads the items of their hottest windows. unread is
// the number of items in a form that this release does not know.
func (h *Heat) hottest(ctx context.Context, from, now time.Time, limit int) (rows []heat.KeyHeat, changed changes, unread int, err error) {
	newest, err := h.recent(ctx, from, now.Add(ahead), now)
	if err != nil {
		return nil, nil, 0, err
	}
	if changed, err = h.changed(ctx, from, now, now); err != nil {
		return nil, nil, 0, err
	}
	merger := heat.Merger{Max: maxHotRows, AsOf: newest.asOf}
	for window, err := range h.source.Windows(ctx, from, newest.from, resolution(now.Sub(from))) {
		if err := fault(window, err); err != nil {
			return nil, nil, 0, err
		}
		merger.Add(window.Items)
		unread += len(window.Unreadable)
	}
	for _, window := range slices.Concat(newest.complete, newest.open) {
		merger.Add(window.Items) // the counts of an open window are certain, too
		unread += len(window.Unreadable)
	}
	rows = byBaseKey(merger.Rows(), changed, newest.asOf)
	rows = rows[:min(limit, len(rows))]
	if err := h.refine(ctx, rows); err != nil {
		return nil, nil, 0, err
	}
	sortHottest(rows)
	return rows, changed, unread, nil
}

// byBaseKey merges the write shards of a base key into the row of the hottest.
func byBaseKey(all []heat.KeyHeat, changed changes, asOf time.Time) (rows []heat.KeyHeat) {
	type id struct{ table, index, key string }
	known := make(map[id]int)
	for i := range all {
		row := &all[i]
		of := id{row.Table, row.Index, row.Key}
		base, ok := row.Base()
		if ok {
			of.key = base.String()
		}
		if at, ok := known[of]; ok {
			rows[at].Join(row)
			continue
		}
		known[of] = len(rows)
		if ok {
			row.Grown(changed[of.key], asOf)
		}
		rows = append(rows, *row)
	}
	sortHottest(rows)
	return rows
}

// sortHottest sorts currently hot rows first, then by rate, highest first.
func sortHottest(rows []heat.KeyHeat) {
	hot := func(r *heat.KeyHeat) int { return min(int(r.Now), int(heat.Hot)) }
	slices.SortStableFunc(rows, func(a, b heat.KeyHeat) int {
		return cmp.Or(cmp.Compare(hot(&b), hot(&a)), cmp.Compare(b.WriteUnitsPerSecond, a.WriteUnitsPerSecond), cmp.Compare(a.Key, b.Key))
	})
}

// refine reads the items of the hottest windows of hot keys, if the source has them.
func (h *Heat) refine(ctx context.Context, rows []heat.KeyHeat) error {
	items, ok := h.source.(full)
	if !ok {
		return nil
	}
	for _, start := range hotWindows(rows) {
		for window, err := range items.All(ctx, start, start.Add(time.Millisecond)) {
			if err := fault(window, err); err != nil {
				return err
			}
			heat.Refine(rows, window.Items)
		}
	}
	return nil
}

// hotWindows returns the starts of the hottest windows of hot keys that only layers have, hottest
// first.
func hotWindows(rows []heat.KeyHeat) (starts []time.Time) {
	for _, row := range rows {
		if row.Folded && row.Status >= heat.Hot && len(starts) < maxFull && !slices.ContainsFunc(starts, row.Start.Equal) {
			starts = append(starts, row.Start)
		}
	}
	return starts
}

// fault returns why a window can't be used: it can't be read, or one of its items is damaged. Items
// of another release are no fault.
func fault(w heat.Window, err error) error {
	if err == nil {
		return w.Damaged()
	}
	return dynamo.Kind(err)
}
