package parts

import "github.com/hotshard/hotshard/pkg/shard/boards"

// Reach is how far down in rank all entries are known. The zero Reach covers no entry.
type Reach struct {
	whole bool          // all entries are covered
	floor *boards.Place // unless whole, the last place that is covered; nil if none is
}

// Everything returns a Reach that covers all entries.
func Everything() Reach { return Reach{whole: true} }

// DownTo returns a Reach that covers the entries up to a place.
func DownTo(p boards.Place) Reach { return Reach{floor: &p} }

// Whole reports whether all entries are covered.
func (r Reach) Whole() bool { return r.whole }

// Covers reports whether r covers an entry at this place.
func (r Reach) Covers(p boards.Place) bool {
	return r.whole || r.floor != nil && ComparePlaces(p, *r.floor) <= 0
}

// MayCover reports whether r covers an entry with this merit and some time.
func (r Reach) MayCover(merit boards.Score) bool {
	return r.whole || r.floor != nil && merit.Cmp(r.floor.Merit()) >= 0
}

// Exceeds reports whether r covers places that other doesn't.
func (r Reach) Exceeds(other Reach) bool {
	switch {
	case other.whole:
		return false
	case r.whole:
		return true
	}
	return r.floor != nil && (other.floor == nil || ComparePlaces(*r.floor, *other.floor) > 0)
}
