package table

import (
	"math"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
)

// passed reports whether an item lies before the cursor, which earlier pages have read.
func (g *gather) passed(at place.Position) bool {
	if g.passedByAnother(at) {
		return true
	}
	c := at.Compare(*g.after)
	if g.span.Desc {
		return c >= 0
	}
	return c <= 0
}

// passedByAnother reports whether an item has the cursor's sort key, and another Table made the
// cursor, one that distinguishes items with equal sort keys. This one does not.
func (g *gather) passedByAnother(at place.Position) bool {
	by := g.after.Tie
	return by != "" && by != place.LastTie && g.tieBreaker() == "" && dynamo.CompareValues(at.Sort, g.after.Sort) == 0
}

// stored returns a stored item with the caller's keys and its place.
func (g *gather) stored(p partition, it dynamo.Item) place.Stored {
	s := place.Stored{Item: it, At: g.place(p, it), PK: p.pk, Sort: it[g.t.SortKey]}
	it[g.t.PartitionKey], it[g.t.SortKey] = dynamo.String(g.name), s.At.Sort
	return s
}

// repeats reports whether an item repeats the last one, from a second write shard. That happens only if
// writers disagreed on a change of the shard count.
func (g *gather) repeats(last *place.Position, s place.Stored) bool {
	return !g.twice && g.findable() && last != nil && last.Tie == s.At.Tie && dynamo.CompareValues(last.Sort, s.At.Sort) == 0
}

// cursor returns the position at which the page after an item begins.
func (g *gather) cursor(at place.Position) place.Position {
	if !g.findable() {
		return at
	}
	at.Shard = math.MaxInt // the same item on another write shard is passed too
	if g.span.Desc {
		at.Shard = -1
	} else if g.tieBreaker() == "" {
		at.Tie = place.LastTie // and so is another item with the sort key
	}
	return at
}
