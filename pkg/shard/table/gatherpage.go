package table

import (
	"math"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
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

// passedByAnother reports whether an item has the sort key of another Table's cursor, which distinguishes
// items with equal sort keys. This Table does not.
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

// hasCopies reports whether an item may be read from two write shards. That happens only if writers disagreed on a change
// of the shard count, or if a new event was written again by its id.
func (g *gather) hasCopies() bool { return !g.twice && g.findable() && g.entry.Most() > 1 }

// repeats reports whether an item is another copy of the last one.
func (g *gather) repeats(last, s place.Stored) bool {
	return last.At.Tie == s.At.Tie && dynamo.CompareValues(last.At.Sort, s.At.Sort) == 0
}

// prefers reports whether reads return copy a of an item, not b: see shardmap.Entry.Prefers.
func (g *gather) prefers(a, b place.Stored) bool {
	by, at, err := g.t.Layout.own(g.t, g.name, a.Item)
	if err != nil {
		return a.At.Shard < b.At.Shard
	}
	return g.entry.Prefers(g.t.calculate, by, at, a.At.Shard, b.At.Shard)
}

// readCurrent makes the range read its counts from the shard map's table, if isUnsettled.
func (g *gather) readCurrent() {
	if g.isUnsettled() {
		g.counts = current(g.t.Shards)
	}
}

// isUnsettled reports whether the view may lack a change of the count that moved items of the range: if write shards are
// random, and the range ends after shardmap.Unsettled ago.
func (g *gather) isUnsettled() bool {
	if g.findable() || !g.t.changing() {
		return false
	}
	b, is := g.t.Layout.(TimeBuckets)
	if !is {
		return true
	}
	end, _, err := boundTime(b.Stamp, g.span.High)
	return err != nil || end.After(g.time().Add(-shardmap.Unsettled))
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
