package system

import (
	"maps"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/tool/console"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// signals returns the limiter's throttled writes of the items and events tables, by base key. Without a limiter all counts
// are 0.
func (s *System) signals(span console.Span) console.SignalsAnswer {
	out := console.SignalsAnswer{Source: "limiter"}
	if s.limiter == nil {
		out.Throttled = span.Columns(time.Time{})
		out.Note = "Nothing is throttled here: there is no limiter, which --partitions of hotshard local sets."
		return out
	}
	since := s.limiter.Since()
	newColumns := func() []*int64 { return span.Columns(since) }
	out.Throttled = newColumns()
	keys := map[string]*console.ThrottledKey{}
	for _, table := range schema.StreamTables() {
		name := s.names.Table(table)
		for _, slot := range s.limiter.ThrottledWrites(name, span.From, span.To) {
			addThrottled(&out, keys, slot, span, newColumns)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		out.Keys = append(out.Keys, *keys[name])
	}
	return out
}

// addThrottled adds the throttled writes of one slot of time: to all writes, and to keys by base key. With span.Index set,
// it adds only writes that the index throttled.
func addThrottled(out *console.SignalsAnswer, keys map[string]*console.ThrottledKey, slot throttle.ThrottledWrites, span console.Span, newColumns func() []*int64) {
	if span.Index == "" {
		span.Add(out.Throttled, slot.Start, slot.Writes)
	}
	for _, k := range slot.Keys {
		if span.Index != "" {
			if k.Index != span.Index {
				continue
			}
			span.Add(out.Throttled, slot.Start, k.Writes)
		}
		span.Add(columnsOf(keys, k, newColumns), slot.Start, k.Writes)
	}
}

// columnsOf returns the columns of a partition key's base key, or of the partition key if it has no base key.
func columnsOf(keys map[string]*console.ThrottledKey, throttled throttle.ThrottledKey, newColumns func() []*int64) []*int64 {
	name, added := throttled.Key, console.ThrottledKey{Key: throttled.Key}
	row := heat.KeyHeat{Index: throttled.Index, Key: throttled.Key}
	if base, ok := row.Base(); ok {
		name = base.String()
		added = console.ThrottledKey{Key: name, Type: string(base.Type), Name: base.Name}
	}
	if keys[name] == nil {
		added.Throttled = newColumns()
		keys[name] = &added
	}
	return keys[name].Throttled
}
