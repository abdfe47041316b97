package shardmap

import (
	"slices"
	"time"
)

// PlacesAt lists the write shards on which an item of time t may be that has attr: first
// the one where it should be, then those of other counts near t. Calculate gives the write
// shard, 0 to n-1, of what has attr among n, as [shard.Calculated] does.
func (e Entry) PlacesAt(calculate func(attr string, n int) int, attr string, t time.Time) []int {
	first := calculate(attr, e.History.At(t))
	rest := e.PlacesDuring(calculate, attr, t.Add(-Margin), t.Add(Margin))
	return append([]int{first}, slices.DeleteFunc(rest, func(n int) bool { return n == first })...)
}

// PlacesDuring lists, in order, the write shards on which items of times from from to to
// may be that have attr.
func (e Entry) PlacesDuring(calculate func(attr string, n int) int, attr string, from, to time.Time) []int {
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

// Forgot tells whether changes from before t were cut off the history, so that
// the count at t can't be told from it.
func (e Entry) Forgot(t time.Time) bool {
	return e.Forgotten && len(e.History) > 0 && t.Before(e.History[0].At)
}

// Shards is on how many write shards items of times from from to to may be. Of times that
// the history has forgotten they may be on any.
func (e Entry) Shards(from, to time.Time) int {
	if e.Forgot(from) {
		return e.Most()
	}
	return e.History.Max(from, to)
}
