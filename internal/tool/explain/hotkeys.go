package explain

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Bounds of hot keys.
const (
	listedShare = 0.5    // a key is listed if it took at least this share of a partition's limit
	maxHotKeys  = 50     // listed keys
	maxRows     = 10_000 // keys in memory, of about 300 bytes each
)

// HotKeys returns the partition keys that took at least half of a partition's limit in a time range, hottest first, at most
// 50. tableOf returns the table of a key for which source names none. An error is source's.
func HotKeys(ctx context.Context, source heat.Source, tableOf func(key string) string, from, to time.Time) (keys []Key, err error) {
	merger := heat.Merger{Max: maxRows}
	for window, err := range source.Windows(ctx, from, to, query.Resolution(to.Sub(from))) {
		if err != nil {
			return nil, err
		}
		merger.Add(window.Items)
	}
	for _, row := range merger.Rows() {
		if row.WriteUnitsPerSecond >= listedShare*row.Limit && len(keys) < maxHotKeys {
			keys = append(keys, Key{
				Reason: Reason{ID: ID{Table: cmp.Or(row.Table, tableOf(row.Key)), Index: row.Index}, Operation: Write, Cause: KeyRange},
				Key:    row.Key, UnitsPerSecond: row.WriteUnitsPerSecond, Hot: row.Status >= heat.Hot, UnitsPerWrite: row.UnitsPerWrite, Source: "heat of the stream",
			})
		}
	}
	return keys, nil
}

// sinceText returns a phrase on when the newest shard count took effect, or "" if the count never changed.
func sinceText(history shard.History) string {
	if len(history) == 0 {
		return ""
	}
	return " since " + httpapi.FormatTime(history[len(history)-1].At)
}

// Advice returns a function that returns the cure for a throttled or hot key: general advice for the tables rollups,
// shard map and heat; "" for other keys without write shards, for reads, and if the shard count can't be read.
func Advice(names schema.Names, shards *shardmap.Map, setShards func(base schema.BaseKey, shards int) string, now func() time.Time) func(context.Context, Key) string {
	return func(ctx context.Context, k Key) string {
		if slices.Contains([]string{names.Rollups, names.ShardMap, names.Heat}, k.Table) {
			return "If it is brief, do nothing: hotshard itself writes this table, and retries. If it lasts, raise the table's warm throughput."
		}
		row := heat.KeyHeat{Key: k.Key, Index: k.Index}
		base, ok := row.Base()
		if _, streamed := names.Streamed(k.Table); !streamed || !ok || k.Operation == Read {
			return ""
		}
		entry, err := shards.Lookup(ctx, base.String(), now())
		if err != nil {
			return ""
		}
		n, partitions := entry.History.Newest(), shards.Partitions(schema.TraitsOf(base.Type).Table)
		allAtLimit := growth.Hot{Type: base.Type, Limit: 1, Shards: n, Hottest: 1, Others: math.Inf(1), Total: float64(n)}
		if remedy, count := allAtLimit.Remedy(partitions); remedy == growth.Raise {
			return fmt.Sprintf("Wait until hotshard adds write shards to %s %s, which has %d%s, or set their number ahead of a peak: %s", base.Type, base.Name, n, sinceText(entry.History), setShards(base, count))
		}
		return fmt.Sprintf("Pace the sender of %s %s, or raise the table's warm throughput: more write shards than %d don't help while the table has %s.", base.Type, base.Name, n, display.Several(partitions, "partition"))
	}
}
