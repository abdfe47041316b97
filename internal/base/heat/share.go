package heat

import "math/bits"

// share is the intersection of a window and a column, in milliseconds from the window's start. Length is the window's.
type share struct{ from, to, length uint64 }

// unitsOf returns the share's part of a window's units. The parts of all shares of a window add up to units.
func (s share) unitsOf(units uint64) uint64 {
	if s.from == 0 && s.to == s.length {
		return units
	}
	before := func(t uint64) uint64 { // the units before t
		high, low := bits.Mul64(units, t)
		n, _ := bits.Div64(high, low, s.length) // t is at most length
		return n
	}
	return before(s.to) - before(s.from)
}

// shares iterates over the columns that intersect a window.
func (m *Map) shares(it *Item) func(yield func(int, share) bool) {
	return func(yield func(int, share) bool) {
		step, length := m.o.Step.Milliseconds(), it.Window.Milliseconds()
		begin := it.Start.UnixMilli() - m.o.From.UnixMilli()
		for n := max(0, begin/step); n < int64(len(m.columns)) && n*step < begin+length; n++ {
			from, to := max(0, n*step-begin), min(length, (n+1)*step-begin)
			if to > from && !yield(int(n), share{uint64(from), uint64(to), uint64(length)}) {
				return
			}
		}
	}
}
