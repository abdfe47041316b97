package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Heat answers what is hot, from any source of heat.
//
//	heat := query.NewHeat(source, query.HeatOptions{Table: "orders", Deadline: 5 * time.Second, Now: time.Now})
//	http.ListenAndServe(addr, httpapi.New(log, query.HeatRoutes(heat)))
type Heat struct {
	source  heat.Source
	options HeatOptions
	notes   noteCache
}

// HeatOptions configure a [Heat]. Deadline and Now are required.
type HeatOptions struct {
	Shards   ShardCounts   // nil if no key has write shards
	Table    string        // default table of a request; "" for hotshard's own
	Deadline time.Duration // bounds the work for one request
	Now      func() time.Time
	Commands display.Commands // for the command lines in advice
}

// ShardCounts has the reads of the shard map for a [Heat]; [*shardmap.Map] implements it.
type ShardCounts interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Since(ctx context.Context, t, now time.Time) ([]shardmap.Entry, error)
	Read(ctx context.Context, key string) (shardmap.Entry, error)
	Partitions(table string) int
}

// NewHeat returns a Heat.
func NewHeat(source heat.Source, o HeatOptions) *Heat {
	return &Heat{source, o, newNoteCache()}
}

// HeatRoutes registers the calls of a Heat.
func HeatRoutes(h *Heat) httpapi.Routes {
	return func(api *httpapi.API) {
		c := calls{api, h.options.Deadline, h.options.Now}
		get(c, httpapi.ForOperators, "/v1/hot-keys", "list-hot-keys", "Name the hottest keys",
			"Returns the keys with the highest write rates, each base key once. Keys that are hot now come first. Each has its highest and current rate, and advice.", h.listHotKeys)
		get(c, httpapi.ForOperators, "/v1/heat", "get-heat", "Read the heat of keys over time",
			"Returns a matrix with the write units of keys (rows) over time (columns). A key that was hot in the time range has a row of its own. The others are merged into ranges by common prefix.", h.getHeat)
	}
}

// maxHotRows bounds the keys, of about 300 bytes each, that are kept in memory while heat items are read.
const maxHotRows = 10_000

// Resolution returns the greatest length of the windows by which a time range is read. A range of up to 24 h then has at
// most 180 windows, if the detector's windows have 10 s.
func Resolution(since time.Duration) time.Duration {
	switch {
	case since <= 30*time.Minute:
		return time.Second // less than a folded window, so the detector's own windows are read
	case since <= 3*time.Hour:
		return time.Minute
	}
	return 10 * time.Minute
}

// hottestKeys are the hottest keys of a time range.
type hottestKeys struct {
	rows    []heat.KeyHeat // each base key once, currently hot keys first
	changed changes
	current []heat.Window // the windows that decide which keys are currently hot
	unread  int           // number of heat items that can't be read
}

// hottest returns the hottest keys since from, at most limit.
func (h *Heat) hottest(ctx context.Context, from, now time.Time, limit int) (found hottestKeys, err error) {
	newest, err := h.readNewest(ctx, from, now.Add(maxAhead), now)
	if err != nil {
		return found, err
	}
	if found.changed, err = h.changesIn(ctx, from, now, now); err != nil {
		return found, err
	}
	merger := heat.Merger{Max: maxHotRows, AsOf: newest.asOf}
	for window, err := range h.source.Windows(ctx, from, newest.from, Resolution(now.Sub(from))) {
		if err != nil {
			return found, dynamo.Classify(err)
		}
		merger.Add(window.Items)
		found.unread += len(window.Unreadable)
	}
	for _, window := range slices.Concat(newest.complete, newest.open) {
		merger.Add(window.Items) // the counts of an open window are lower bounds, too
		found.unread += len(window.Unreadable)
		if heat.Current(window, newest.asOf) {
			found.current = append(found.current, window)
		}
	}
	rows := mergeByBaseKey(merger.Rows(), found.changed, newest.asOf)
	found.rows = rows[:min(limit, len(rows))]
	return found, nil
}

// rowID identifies a partition key, or a base key with all its write shards.
type rowID struct{ table, index, key string }

// rowIDOf returns the id of a row's base key, or of the partition key if it is no write shard.
func rowIDOf(row *heat.KeyHeat) rowID {
	id := rowID{row.Table, row.Index, row.Key}
	if base, ok := row.Base(); ok {
		id.key = base.String()
	}
	return id
}

// mergeByBaseKey merges the rows of each base key's write shards into the row of its hottest write shard. It returns the rows
// as sortHottest sorts them.
func mergeByBaseKey(all []heat.KeyHeat, changed changes, asOf time.Time) (rows []heat.KeyHeat) {
	indexes := make(map[rowID]int) // in rows
	for i := range all {
		row := &all[i]
		id := rowIDOf(row)
		if index, ok := indexes[id]; ok {
			rows[index].Join(row)
			continue
		}
		indexes[id] = len(rows)
		if _, isBase := row.Base(); isBase {
			row.MarkGrowths(changed[id.key], asOf)
		}
		rows = append(rows, *row)
	}
	sortHottest(rows)
	return rows
}

// sortHottest sorts currently hot rows (hot or saturated) first, then by rate, highest first.
func sortHottest(rows []heat.KeyHeat) {
	slices.SortStableFunc(rows, func(a, b heat.KeyHeat) int {
		aHot, bHot := min(a.Now, heat.Hot), min(b.Now, heat.Hot)
		return cmp.Or(cmp.Compare(bHot, aHot), cmp.Compare(b.WriteUnitsPerSecond, a.WriteUnitsPerSecond), cmp.Compare(a.Key, b.Key))
	})
}

// currentRows returns, for each currently hot row, its rows in the current windows.
func currentRows(found *hottestKeys) map[rowID][]heat.KeyHeat {
	hot := make(map[rowID]bool)
	for i := range found.rows {
		hot[rowIDOf(&found.rows[i])] = found.rows[i].Now >= heat.Hot
	}
	current := make(map[rowID][]heat.KeyHeat)
	for _, window := range found.current {
		for _, row := range mergeByBaseKey(heat.Merge(window.Items), nil, time.Time{}) {
			if id := rowIDOf(&row); hot[id] {
				current[id] = append(current[id], row)
			}
		}
	}
	return current
}
