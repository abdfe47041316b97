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

// signals returns the limiter's throttled writes in the items and events tables, by base key; 0 and a note without a limiter.
func (s *System) signals(span console.Span) console.SignalsAnswer {
	answer := console.SignalsAnswer{Source: "limiter"}
	if s.limiter == nil {
		answer.Throttled = span.Columns(time.Time{})
		answer.Note = "Nothing is throttled here: there is no limiter, which --partitions of hotshard local sets."
		return answer
	}
	since := s.limiter.Since()
	newColumns := func() []*int64 { return span.Columns(since) }
	answer.Throttled = newColumns()
	keys := map[string]*console.ThrottledKey{}
	for _, table := range schema.StreamTables() {
		name := s.names.Table(table)
		for _, slot := range s.limiter.ThrottledWrites(name, span.From, span.To) {
			addThrottled(&answer, keys, slot, span, newColumns)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		answer.Keys = append(answer.Keys, *keys[name])
	}
	return answer
}

// addThrottled adds the throttled writes of one slot of time to answer.Throttled, and to keys by base key. With span.Index
// set, it adds only writes that the index throttled.
func addThrottled(answer *console.SignalsAnswer, keys map[string]*console.ThrottledKey, slot throttle.ThrottledWrites, span console.Span, newColumns func() []*int64) {
	if span.Index == "" {
		span.Add(answer.Throttled, slot.Start, slot.Writes)
	}
	for _, k := range slot.Keys {
		if span.Index != "" && span.Index != k.Index {
			continue
		}
		if span.Index != "" {
			span.Add(answer.Throttled, slot.Start, k.Writes)
		}
		span.Add(columnsOf(keys, k, newColumns), slot.Start, k.Writes)
	}
}

// columnsOf returns the columns in keys of a partition key's base key, or of the partition key itself. It adds missing columns.
func columnsOf(keys map[string]*console.ThrottledKey, throttled throttle.ThrottledKey, newColumns func() []*int64) []*int64 {
	key := console.ThrottledKey{Key: throttled.Key}
	row := heat.KeyHeat{Index: throttled.Index, Key: throttled.Key}
	if base, ok := row.Base(); ok {
		key = console.ThrottledKey{Key: base.String(), Type: string(base.Type), Name: base.Name}
	}
	if keys[key.Key] == nil {
		key.Throttled = newColumns()
		keys[key.Key] = &key
	}
	return keys[key.Key].Throttled
}
