package system

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hotshard/hotshard/internal/aws/limiter"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/tool/console"
)

// signals returns the limiter's throttled writes of the items table, by base key, and its splits. Without a limiter
// there are none.
func (s *System) signals(_ context.Context, span console.Span) console.Signals {
	out := console.Signals{Source: "limiter", Throttled: make([]int64, span.Columns())}
	if s.limiter == nil {
		out.Note = "Nothing is throttled here: hotshard local runs without --partitions."
		return out
	}
	out.KnownFrom = s.limiter.Since()
	keys := map[string]*console.ThrottledKey{}
	for _, slot := range s.limiter.ThrottledWrites(s.names.Items, span.From, span.To) {
		if span.Index == "" {
			span.Spread(out.Throttled, slot.Start, slot.Length, slot.Writes)
		}
		for _, k := range slot.Keys {
			if span.Index != "" {
				if k.Index != span.Index {
					continue
				}
				span.Spread(out.Throttled, slot.Start, slot.Length, k.Writes)
			}
			span.Spread(columnsOf(keys, k, span.Columns()), slot.Start, slot.Length, k.Writes)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		out.Keys = append(out.Keys, *keys[name])
	}
	for _, split := range s.limiter.Splits(s.names.Items) {
		if split.Index == span.Index {
			out.Splits = append(out.Splits, console.SplitSignal{
				Time: split.Time, What: "partition", Text: fmt.Sprintf("A partition split in two: %d partitions now.", split.Partitions),
			})
		}
	}
	return out
}

// columnsOf returns the columns of a partition key's base key, or of the partition key if it has no base key.
func columnsOf(keys map[string]*console.ThrottledKey, k limiter.ThrottledKey, columns int) []int64 {
	name, of := k.Key, console.ThrottledKey{Key: k.Key}
	row := heat.KeyHeat{Index: k.Index, Key: k.Key}
	if base, ok := row.Base(); ok {
		name = base.String()
		of = console.ThrottledKey{Key: name, Type: string(base.Type), Name: base.Name}
	}
	if keys[name] == nil {
		of.Throttled = make([]int64, columns)
		keys[name] = &of
	}
	return keys[name].Throttled
}
