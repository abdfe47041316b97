package query

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/heat"
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
}

// HeatOptions are what a [Heat] knows beside its source. Deadline and Now are required.
type HeatOptions struct {
	Shards   ShardCounts   // nil where no key has write shards
	Table    string        // whose heat is shown unless a caller says otherwise, "" for hotshard's own
	Deadline time.Duration // bounds the work for one request
	Now      func() time.Time
}

// ShardCounts are what is asked of the shard map; a [*shardmap.Map] has it.
type ShardCounts interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Partitions() int
}

// NewHeat returns a Heat.
func NewHeat(source heat.Source, o HeatOptions) *Heat { return &Heat{source, o} }

// HeatRoutes registers its calls.
func HeatRoutes(h *Heat) httpapi.Routes {
	return func(api *httpapi.API) {
		c := calls{api, h.o.Deadline, h.o.Now}
		get(c, httpapi.ForOperators, "/v1/hot-keys", "list-hot-keys", "Name the hottest keys",
			"The keys with the highest write rates of the time before now, the hottest first, and what to do about each.", h.listHotKeys)
		get(c, httpapi.ForOperators, "/v1/heat", "get-heat", "Read the heat of keys over time",
			"A matrix of keys and times: which key took how many write units when. Hot keys stand alone, and the others are merged into ranges by common prefix.", h.getHeat)
	}
}

// maxHotRows is how many of the hottest keys are told apart while a day's heat items
// are gone through, each about 300 bytes.
const maxHotRows = 10_000

// maxFull is how many windows are read in full for one answer.
const maxFull = 4

// resolution is the length of windows by which a time is told, if there are such: some 150 or
// fewer windows.
func resolution(since time.Duration) time.Duration {
	switch {
	case since <= 30*time.Minute:
		return time.Second
	case since <= 3*time.Hour:
		return time.Minute
	}
	return 10 * time.Minute
}

// full is a source that also has the items of windows themselves where it has layers.
type full interface {
	All(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error]
}

// hottest returns the hottest keys of the windows that start at from or later and before
// to. What layers don't tell of those that are hot is read from the items of their hottest windows.
func (h *Heat) hottest(ctx context.Context, from, to time.Time, limit int) ([]heat.Row, error) {
	rows, err := merged(h.source.Windows(ctx, from, to, resolution(to.Sub(from))))
	if err != nil {
		return nil, err
	}
	rows = rows[:min(limit, len(rows))]
	items, ok := h.source.(full)
	if !ok {
		return rows, nil
	}
	for _, start := range hotWindows(rows) {
		for window, err := range items.All(ctx, start, start.Add(time.Millisecond)) {
			if err := fault(window, err); err != nil {
				return nil, err
			}
			heat.Refine(rows, window.Items)
		}
	}
	return rows, nil
}

// hotWindows are the starts of the hottest windows of hot keys that only layers tell, the
// hottest first.
func hotWindows(rows []heat.Row) (starts []time.Time) {
	for _, row := range rows {
		if row.Folded && row.Status >= heat.Hot && len(starts) < maxFull && !slices.ContainsFunc(starts, row.Start.Equal) {
			starts = append(starts, row.Start)
		}
	}
	return starts
}

// merged merges windows. A day of a table with many stream shards is more than fits into
// memory, so that is done window by window.
func merged(all iter.Seq2[heat.Window, error]) ([]heat.Row, error) {
	merger := heat.Merger{Max: maxHotRows}
	for window, err := range all {
		if err := fault(window, err); err != nil {
			return nil, err
		}
		merger.Add(window.Items)
	}
	return merger.Rows(), nil
}

// fault is why a window can't be told: it can't be read, or an item of it.
func fault(w heat.Window, err error) error {
	if err == nil && len(w.Unreadable) > 0 {
		return w.Unreadable[0]
	}
	return dynamo.Kind(err)
}
