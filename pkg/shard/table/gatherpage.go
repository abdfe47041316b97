package table

import (
	"math"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard/internal/place"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// passed reports whether earlier pages have read the item at a position: it lies at or before the cursor.
func (g *gather) passed(at place.Position) bool {
	if g.tieBreakerRemoved() && dynamo.CompareValues(at.Sort, g.after.Sort) == 0 {
		return true
	}
	order := at.Compare(*g.after)
	if g.span.Desc {
		return order >= 0
	}
	return order <= 0
}

// tieBreakerRemoved reports whether the cursor comes from a Table whose layout had a tie-breaker, and this Table's has none.
func (g *gather) tieBreakerRemoved() bool {
	return g.after.Tie != "" && g.after.Tie != place.LastTie && g.tieBreaker() == ""
}

// stored returns an item of a partition with the caller's keys, and its place. It changes the item.
func (g *gather) stored(p partition, it dynamo.Item) place.Stored {
	s := place.Stored{Item: it, At: g.position(p, it), PK: p.pk, Sort: it[g.t.SortKey]}
	it[g.t.PartitionKey], it[g.t.SortKey] = dynamo.String(g.name), s.At.Sort
	return s
}

// hasCopies reports whether the read must look for copies of an item on two write shards. Copies exist only if writers
// disagreed on a change of the shard count, or if a new event was written again by its id.
func (g *gather) hasCopies() bool { return !g.keepCopies && g.findable() && g.entry.Most() > 1 }

// isCopy reports whether two items are copies of one item.
func (g *gather) isCopy(a, b place.Stored) bool {
	return a.At.Tie == b.At.Tie && dynamo.CompareValues(a.At.Sort, b.At.Sort) == 0
}

// prefers reports whether reads return copy a of an item, not copy b: see shardmap.Entry.Prefers.
func (g *gather) prefers(a, b place.Stored) bool {
	value, at, err := g.t.Layout.shardInputs(g.t, g.name, a.Item)
	if err != nil {
		return a.At.Shard < b.At.Shard
	}
	return g.entry.Prefers(g.t.calculate, value, at, a.At.Shard, b.At.Shard)
}

// useCurrentCounts makes the read look up its counts in the shard map's table, if the cached shard map may be too old.
func (g *gather) useCurrentCounts() {
	if g.isUnsettled() {
		g.counts = uncached(g.t.Shards)
	}
}

// isUnsettled reports whether the cached shard map may lack a growth that writes of the range's items have used. Only
// writes to random write shards use a growth so early, and a view lacks a growth for at most shardmap.Unsettled.
func (g *gather) isUnsettled() bool {
	if g.findable() || !g.t.mayChangeCounts() {
		return false
	}
	buckets, ok := g.t.Layout.(TimeBuckets)
	if !ok {
		return true
	}
	end, _, err := boundTime(buckets.Stamp, g.span.High)
	return err != nil || end.After(g.now().Add(-shardmap.Unsettled))
}

// cursor returns the position after which the next page begins, by the position of the page's last item. If items are
// findable, the cursor lies after all copies of that item.
func (g *gather) cursor(last place.Position) place.Position {
	switch {
	case !g.findable():
	case g.span.Desc:
		last.Shard = -1
	default:
		last.Shard = math.MaxInt
		if g.tieBreaker() == "" {
			last.Tie = place.LastTie
		}
	}
	return last
}
