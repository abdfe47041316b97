package heat

import "math/bits"

// share is the intersection of a window and a column, in milliseconds from the window's start. length is the window's.
type share struct{ from, to, length uint64 }

// unitsOf returns the share's fraction of a window's units, rounded. The sum over all shares of a window is exactly units.
func (s share) unitsOf(units uint64) uint64 {
	if s.from == 0 && s.to == s.length {
		return units
	}
	unitsBefore := func(t uint64) uint64 { // units * t / length, where t is at most length
		high, low := bits.Mul64(units, t)
		n, _ := bits.Div64(high, low, s.length)
		return n
	}
	return unitsBefore(s.to) - unitsBefore(s.from)
}

// shares iterates over the columns that intersect an item's window, by index, and over the shares.
func (m *Map) shares(it *Item) func(yield func(int, share) bool) {
	return func(yield func(int, share) bool) {
		step, length := m.options.Step.Milliseconds(), it.Window.Milliseconds()
		begin := it.Start.UnixMilli() - m.options.From.UnixMilli()
		for n := max(0, begin/step); n < int64(len(m.columns)) && n*step < begin+length; n++ {
			from, to := max(0, n*step-begin), min(length, (n+1)*step-begin)
			if to > from && !yield(int(n), share{uint64(from), uint64(to), uint64(length)}) {
				return
			}
		}
	}
}
