package shardmap

import (
	"slices"
	"time"
)

// PlacesAt returns the write shards that may have an item of time t: first the one that follows from the count at t,
// then those that follow from the other counts within LateMargin of t. calculate returns the write shard of the
// attribute value attr among n, as [shard.Calculated] does.
func (e Entry) PlacesAt(calculate func(attr string, n int) int, attr string, t time.Time) []int {
	first := calculate(attr, e.History.At(t))
	rest := e.PlacesDuring(calculate, attr, t, t)
	return append([]int{first}, slices.DeleteFunc(rest, func(n int) bool { return n == first })...)
}

// Prefers reports whether reads return the copy of an item of time t that is on write shard a, not the copy on b. Reads
// prefer the write shard that PlacesAt returns first, or else the lower one. calculate and attr are those of PlacesAt.
func (e Entry) Prefers(calculate func(attr string, n int) int, attr string, t time.Time, a, b int) bool {
	if home := calculate(attr, e.History.At(t)); a == home || b == home {
		return a == home
	}
	return a < b
}

// PlacesDuring returns the write shards, sorted, that may have items with the attribute value attr and times between
// from and to, both included. If changes of that time were dropped, it returns all.
func (e Entry) PlacesDuring(calculate func(attr string, n int) int, attr string, from, to time.Time) []int {
	from, to = from.Add(-LateMargin), to.Add(LateMargin)
	var list []int
	if e.Forgot(from) {
		for n := range e.Most() {
			list = append(list, n)
		}
		return list
	}
	for _, count := range e.History.Counts(from, to) {
		list = append(list, calculate(attr, count))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Forgot reports whether the count at t is unknown, since changes before the history's first were dropped.
func (e Entry) Forgot(t time.Time) bool {
	return e.Forgotten && len(e.History) > 0 && t.Before(e.History[0].At)
}

// RangeShards returns how many write shards a read of the times between from and to must query: the largest shard count
// from Margin before the range to LateMargin after it, since a late growth gets a later date.
func (e Entry) RangeShards(from, to time.Time) int {
	return e.Shards(from.Add(-Margin), to.Add(LateMargin))
}

// Shards returns the largest shard count in effect between from and to. If changes of that time were
// dropped, it returns the largest count ever.
func (e Entry) Shards(from, to time.Time) int {
	if e.Forgot(from) {
		return e.Most()
	}
	return e.History.Max(from, to)
}
