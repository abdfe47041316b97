package schema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hotshard/hotshard/pkg/shard"
)

// A counter's summary stores the newest folded rev and value of each write shard (a source) in attributes of their own. So
// folds of different write shards don't conflict. Write shard 0 is never folded: readers read its item.
//
//	pk     S  C#<counter>#<partial>
//	sk     S  -
//	r<n>   N  rev of write shard n; folds never lower it
//	x<n>   N  value of write shard n at that rev
//	as_of  N  Unix milliseconds of the last fold
//	gone   N  Unix milliseconds of the last fold of a write shard's removal; may be
//	          absent
//	v      N  1
//
// Sources 1 to 63 are in partial 0, the next 64 in partial 1, and so on, each with a partition key
// of its own. A reader adds all x to write shard 0's value.
const SourcesPerPartial = 64

// AsOf is the time of a summary's last fold. Gone is the time of the last fold that left a
// tombstone: the rev of a removed write shard, with value 0.
const (
	AsOf = "as_of"
	Gone = "gone"
)

// SummaryVersion is the version of a counter's summary.
const SummaryVersion = "1"

// SummaryKey returns the partition key of the partial that holds a write shard.
func SummaryKey(counter string, source int) string {
	base := BaseKey{Counter, counter}.String()
	return shard.Hash.Join(base, source/SourcesPerPartial)
}

// Partials returns the number of partials of a counter with this max_shards; 0 for one write shard.
func Partials(maxShards int) int {
	if maxShards <= 1 {
		return 0
	}
	return (maxShards-1)/SourcesPerPartial + 1
}

// RevAttr and ValueAttr return the names of a write shard's attributes in its partial.
func RevAttr(source int) string   { return "r" + strconv.Itoa(source) }
func ValueAttr(source int) string { return "x" + strconv.Itoa(source) }

// SourcesOf returns the numbers of the write shards with a rev or a value in a partial, in ascending order.
func SourcesOf[V any](partial map[string]V) (list []int) {
	for name := range partial {
		n, err := strconv.Atoi(strings.TrimLeft(name, "rx"))
		if err == nil && n >= 0 && (name == RevAttr(n) || name == ValueAttr(n)) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// IsValueAttr reports whether an attribute of a partial has the value of a write shard above 0.
func IsValueAttr(name string) bool {
	digits, ok := strings.CutPrefix(name, "x")
	n, err := strconv.Atoi(digits)
	return ok && err == nil && n > 0
}
