package fold

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hotshard/hotshard/internal/fold/parts"
)

// compare checks that the summaries and the rows of the index equal the entries.
func (a *arena) compare() {
	top, all := a.top(), a.ranked()
	held := top.Entries()
	if len(held) < min(a.size, len(all)) || top.Whole() && len(held) != len(all) {
		a.t.Fatalf("the top has %d of %d players, size %d, whole: %t", len(held), len(all), a.size, top.Whole())
	}
	for i, e := range held {
		if e.Place != all[i] || e.Rev != a.entries[e.Player].Rev {
			a.t.Fatalf("rank %d is %+v, want %+v", i+1, e, a.entries[all[i].Player])
		}
	}
	cells := a.cells()
	rows, err := a.containers[0].tops.boards.(*lagging).Boards.Top(context.Background(), a.name, "all", len(all)+1, a.clock)
	if err != nil || !slices.Equal(rows, all) || cells.Late() != 0 {
		a.t.Fatalf("the index has %+v, %v; want %+v, and none late of %d", rows, err, all, cells.Late())
	}
	if sum, ok := a.sum(); ok {
		if !sum.Same(cells) {
			a.t.Fatalf("the stored sum has %d entries, the fragments %d", sum.Total(), cells.Total())
		}
	}
	if cells.Total() != int64(len(all)) {
		a.t.Fatalf("the histogram has %d entries, want %d", cells.Total(), len(all))
	}
	for i, p := range all {
		rank, margin := cells.Locate(p.Merit()).Rank()
		if off := rank - int64(i+1); max(off, -off) > margin {
			a.t.Fatalf("%+v: rank %d +- %d, want %d", p, rank, margin, i+1)
		}
	}
}

func (a *arena) top() storedTop {
	h := a.containers[0]
	top, err := h.tops.load(context.Background(), &boardChanges{Period: a.period()})
	if err != nil {
		a.t.Fatal(err)
	}
	return top
}

// period returns the arena's period.
func (a *arena) period() parts.Period { return parts.Period{Board: a.name, Label: "all"} }

// store returns a store of histograms with the arena's clock.
func (a *arena) store() *parts.Store[parts.Histogram] {
	return parts.NewHistograms(a.db, a.names.Rollups, func() time.Time { return a.clock })
}

// cells returns the sum of all fragments of the histogram.
func (a *arena) cells() (all parts.Histogram) {
	read, err := a.store().Read(context.Background(), a.period().Key())
	if err = errors.Join(err, parts.Damage(read)); err != nil {
		a.t.Fatal(err)
	}
	for _, p := range read {
		all.Merge(p.Value)
	}
	return all
}
