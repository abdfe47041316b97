package board

import "github.com/hotshard/hotshard/pkg/shard/boards"

// Reach is how far down in rank all entries are known. The zero Reach knows of none.
type Reach struct {
	whole bool          // all that there are
	floor *boards.Place // else those that are not behind it; nil for none
}

// Everything reaches all entries that there are.
func Everything() Reach { return Reach{whole: true} }

// DownTo reaches the entries that are not behind a place.
func DownTo(p boards.Place) Reach { return Reach{floor: &p} }

// Whole tells whether all entries that there are are known.
func (r Reach) Whole() bool { return r.whole }

// Covers tells whether an entry at this place would be known.
func (r Reach) Covers(p boards.Place) bool {
	return r.whole || r.floor != nil && Compare(p, *r.floor) <= 0
}

// Wider tells whether it covers places that another one doesn't.
func (r Reach) Wider(than Reach) bool {
	switch {
	case than.whole:
		return false
	case r.whole:
		return true
	}
	return r.floor != nil && (than.floor == nil || Compare(*r.floor, *than.floor) > 0)
}
