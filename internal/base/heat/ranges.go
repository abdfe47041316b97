package heat

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// span is a range of sorted groups: from is included, to is not.
type span struct {
	from, to int
	units    uint64 // sum over its groups; 0 in the spans that hottest returns
}

// ranges returns the spans of sorted groups that are rows, at most maxRows. Each group that stands alone has a span; if
// there are too many, the hottest have one. The other spans are ranges of the groups between them, those with the most
// units. Groups without a span are in the rest.
//
// If there are fewer spans than maxRows, ranges splits the range with the most units, between the neighbours with the
// shortest common prefix. Among several such places, it chooses the place that halves the units best.
func ranges(groups []*rowGroup, maxRows int) []span {
	hot := hottest(groups, maxRows)
	between := spansBetween(groups, hot)
	slices.SortFunc(between, func(a, b span) int { return cmp.Or(cmp.Compare(b.units, a.units), cmp.Compare(a.from, b.from)) })
	between = between[:min(len(between), maxRows-len(hot))]
	common := make([]int, len(groups)) // length of the common prefix with the group before
	for i := 1; i < len(groups); i++ {
		common[i] = commonBytes(groups[i-1].key, groups[i].key)
	}
	for len(hot)+len(between) < maxRows {
		var heaviest *span // the heaviest span of several groups
		for i := range between {
			if s := &between[i]; s.to-s.from > 1 && (heaviest == nil || s.units > heaviest.units) {
				heaviest = s
			}
		}
		if heaviest == nil {
			break
		}
		left, right := heaviest.split(groups, common)
		*heaviest = left
		between = append(between, right)
	}
	all := append(between, hot...)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return all
}

// hottest returns the spans of the groups that stand alone, in order. If there are more than maxSpans, it returns the
// hottest.
func hottest(groups []*rowGroup, maxSpans int) (list []span) {
	for i, g := range groups {
		if g.alone {
			list = append(list, span{from: i, to: i + 1})
		}
	}
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Compare(groups[b.from].rate, groups[a.from].rate) })
	list = list[:min(len(list), maxSpans)]
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return list
}

// spansBetween returns the spans of the groups in none of the given spans, which are in order.
func spansBetween(groups []*rowGroup, spans []span) (list []span) {
	from := 0
	for _, s := range append(slices.Clone(spans), span{from: len(groups)}) {
		if s.from > from {
			gap := span{from: from, to: s.from}
			for _, g := range groups[from:s.from] {
				gap.units += g.units
			}
			list = append(list, gap)
		}
		from = s.to
	}
	return list
}

// split divides a span of two or more groups in two, as [ranges] describes. common has the length of the common prefix of
// each group and the group before it.
func (s span) split(groups []*rowGroup, common []int) (left, right span) {
	shortest := slices.Min(common[s.from+1 : s.to])
	found, leastHeavier, unitsBefore := false, uint64(0), uint64(0)
	for i := s.from + 1; i < s.to; i++ {
		unitsBefore += groups[i-1].units
		if common[i] != shortest {
			continue
		}
		if heavierHalf := max(unitsBefore, s.units-unitsBefore); !found || heavierHalf < leastHeavier {
			found, leastHeavier = true, heavierHalf
			left = span{s.from, i, unitsBefore}
			right = span{i, s.to, s.units - unitsBefore}
		}
	}
	return left, right
}

// commonBytes returns the length of the longest common prefix.
func commonBytes(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// commonPrefix returns the longest common prefix of whole characters.
func commonPrefix(a, b string) string {
	n := commonBytes(a, b)
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return a[:n]
}
