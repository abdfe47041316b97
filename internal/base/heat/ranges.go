package heat

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// span is a range of sorted groups: from is included, to is not.
type span struct {
	from, to int
	units    uint64 // sum over its groups
}

// ranges returns at most rows spans of sorted groups: one for each group that stands alone, the hottest first if there are
// more, and ranges of the groups between them, those with the most units first. Groups without a span are in the rest.
//
// While rows are left, ranges splits the range with the most units, between the neighbours with the shortest common prefix.
// Among several such places, it chooses the place that halves the units best.
func ranges(lines []*rowGroup, rows int) []span {
	hot := hottest(lines, rows)
	between := gaps(lines, hot)
	slices.SortFunc(between, func(a, b span) int { return cmp.Or(cmp.Compare(b.units, a.units), cmp.Compare(a.from, b.from)) })
	between = between[:min(len(between), rows-len(hot))]
	common := make([]int, len(lines)) // length of the common prefix with the line before
	for i := 1; i < len(lines); i++ {
		common[i] = commonBytes(lines[i-1].key, lines[i].key)
	}
	for len(hot)+len(between) < rows {
		var heaviest *span // of those with several groups
		for i := range between {
			if s := &between[i]; s.to-s.from > 1 && (heaviest == nil || s.units > heaviest.units) {
				heaviest = s
			}
		}
		if heaviest == nil {
			break
		}
		left, right := heaviest.split(lines, common)
		*heaviest = left
		between = append(between, right)
	}
	all := append(between, hot...)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return all
}

// hottest returns the spans of the groups that need their own rows, in order. If there are more than most, it returns
// the hottest.
func hottest(lines []*rowGroup, most int) (list []span) {
	for i, l := range lines {
		if l.alone {
			list = append(list, span{from: i, to: i + 1})
		}
	}
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Compare(lines[b.from].rate, lines[a.from].rate) })
	list = list[:min(len(list), most)]
	slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return list
}

// gaps returns the spans between the given ones, which are in order.
func gaps(lines []*rowGroup, spans []span) (list []span) {
	if len(lines) == 0 {
		return nil
	}
	from := 0
	for _, s := range append(slices.Clone(spans), span{from: len(lines)}) {
		if s.from > from {
			gap := span{from: from, to: s.from}
			for _, l := range lines[from:s.from] {
				gap.units += l.units
			}
			list = append(list, gap)
		}
		from = s.to
	}
	return list
}

// split divides a span of two or more groups in two, as [ranges] describes. common has the length of the common prefix of
// each group and the group before it.
func (s span) split(lines []*rowGroup, common []int) (left, right span) {
	shortest := slices.Min(common[s.from+1 : s.to])
	left, right = s, s
	var before, best uint64
	for i := s.from + 1; i < s.to; i++ {
		before += lines[i-1].units
		if common[i] != shortest {
			continue
		}
		heavier := max(before, s.units-before)
		if left.to == s.to || heavier < best {
			best = heavier
			left.to, left.units = i, before
		}
	}
	right.from, right.units = left.to, s.units-left.units
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
