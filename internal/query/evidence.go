package query

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/base/throttles"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// HotKeys reads partition keys that took much of a partition's limit, as evidence of throttles.
type HotKeys struct {
	Source heat.Source
	Table  func(key string) string // returns the table of a row that names none

	// Scale is 0, or a factor for the rates of an engine. DynamoDB Local stamps all records of a minute with the
	// minute's begin, so that one window has them all.
	Scale float64
}

const (
	warmShare = 0.5 // of a partition's limit from which a key is listed
	hotShare  = 0.7 // from which a scaled rate is hot
	maxHeat   = 50  // keys
)

// Read returns the keys of a time, hottest first.
func (h HotKeys) Read(ctx context.Context, from, to time.Time) (keys []throttles.Key, err error) {
	merger := heat.Merger{Max: maxHotRows}
	for window, err := range h.Source.Windows(ctx, from, to, resolution(to.Sub(from))) {
		if err := fault(window, err); err != nil {
			return nil, err
		}
		merger.Add(window.Items)
	}
	for _, row := range merger.Rows() {
		if k := h.key(&row); len(keys) < maxHeat && k.UnitsPerSecond >= warmShare*row.Limit {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// Watched returns the tables, other than hotshard's own, whose streams were counted in a time.
func (h HotKeys) Watched(ctx context.Context, from, to time.Time) (tables []string, err error) {
	for window, err := range h.Source.Windows(ctx, from, to, resolution(to.Sub(from))) {
		if err := fault(window, err); err != nil {
			return nil, err
		}
		for _, it := range window.Items {
			if it.Table != "" && !slices.Contains(tables, it.Table) {
				tables = append(tables, it.Table)
			}
		}
	}
	return tables, nil
}

// key returns what a row tells.
func (h HotKeys) key(row *heat.KeyHeat) throttles.Key {
	k := throttles.Key{
		Reason: throttles.Reason{ID: throttles.ID{Table: cmp.Or(row.Table, h.Table(row.Key)), Index: row.Index}, Operation: throttles.Write, Cause: throttles.KeyRange},
		Key:    row.Key, UnitsPerSecond: row.WriteUnitsPerSecond, Hot: row.Status >= heat.Hot, UnitsPerWrite: row.UnitsPerWrite, Source: "heat of the stream",
	}
	if h.Scale > 0 {
		k.UnitsPerSecond *= h.Scale
		k.Hot = k.UnitsPerSecond >= hotShare*row.Limit
	}
	return k
}

// WriteShards reads the write shards of base keys; [*shardmap.Map] implements it.
type WriteShards interface {
	Lookup(ctx context.Context, key string, now time.Time) (shardmap.Entry, error)
	Partitions(table string) int
}

// Advice returns a function that returns the cure for a throttled or hot write shard of a deployment, and for tables that
// hotshard writes for itself. It returns "" for another key, or if the shard count can't be read.
func Advice(names schema.Names, shards WriteShards, now func() time.Time) func(context.Context, throttles.Key) string {
	return func(ctx context.Context, k throttles.Key) string {
		if slices.Contains([]string{names.Rollups, names.ShardMap, names.Heat}, k.Table) {
			return "Nothing, if it is brief: hotshard writes this table for itself, and retries. If it lasts, raise the table's warm throughput."
		}
		row := heat.KeyHeat{Key: k.Key, Index: k.Index}
		base, ok := row.Base()
		if _, callers := names.Streamed(k.Table); !callers || !ok || k.Operation == throttles.Read {
			return ""
		}
		entry, err := shards.Lookup(ctx, base.String(), now())
		if err != nil {
			return ""
		}
		n, partitions := entry.History.Newest(), shards.Partitions(kind.Of(base.Type).Table)
		hot := growth.Hot{Type: base.Type, Limit: 1, Shards: n, Hottest: 1, Others: math.Inf(1), Total: float64(n)} // each write shard at its limit
		if remedy, count := hot.Remedy(partitions); remedy == growth.Raise {
			return fmt.Sprintf("Wait until hotshard adds write shards to %s %s, which has %d, or set their number ahead of a peak: hotshard shards set --type %[1]s --name %[2]s --shards %[4]d", base.Type, keyname.ShellWord(base.Name), n, count)
		}
		return fmt.Sprintf("Pace the sender of %s %s, or raise the table's warm throughput: more write shards than %d don't help while the table has %d partitions.", base.Type, base.Name, n, partitions)
	}
}
