package hotkeys_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// scores returns scores of n players in one write shard of a board's period, changed or new.
func scores(period string, shard, n int, at float64, changed bool) (w writes) {
	from := -1
	if changed {
		from = shard
	}
	for i := range n {
		w = append(w, scored("b", period, fmt.Sprint(i), at, from, shard))
	}
	return w
}

// TestBoardHotAtHalfTheRate checks that a board is hot at half the rate of other keys, since a changed score takes two
// units of its index partition. The players' items in the table stay warm.
func TestBoardHotAtHalfTheRate(t *testing.T) {
	for name, c := range map[string]struct {
		scores writes
		want   string // the row that is not warm; "" for none
		change string
	}{
		"changed, just below": {scores("all", 0, 349, 1, true), "", ""},
		"changed":             {scores("all", 0, 350, 1, true), "by_rank L#b#all#0 hot 70", "L#b 1>6"},
		"new, just below":     {scores("all", 0, 699, 1, false), "", ""},
		"new":                 {scores("all", 0, 700, 1, false), "by_rank L#b#all#0 hot 70", "L#b 1>6"},
		"of several periods, each below": {
			slices.Concat(scores("all", 0, 349, 1, true), scores("2026-01-05", 0, 349, 1, true), scores("2026-W02", 0, 349, 2, true)), "", "",
		},
		"the hottest period decides, for the sum of all": {
			slices.Concat(scores("all", 0, 349, 1, true), scores("2026-01-05", 0, 400, 1, true), scores("2026-W02", 0, 100, 2, true)),
			"by_rank L#b#2026-01-05#0 hot 80", "L#b 1>14",
		},
	} {
		f := newFixture(settings())
		f.must(t, batch{writes: c.scores, first: 1, final: true}.payload())
		var hot []string
		for _, row := range f.rows(t) {
			if row.Status != heat.Normal {
				hot = append(hot, fmt.Sprint(row.Index, " ", row.Key, " ", row.Status, " ", row.WriteUnitsPerSecond))
			}
		}
		got := strings.Join(hot, ", ") + ": " + strings.Join(f.shards.changes, ", ")
		if got != c.want+": "+c.change {
			t.Errorf("%s: %s; want %s: %s", name, got, c.want, c.change)
		}
		if v := f.values("KeyWriteUnitsPerSecond"); c.want != "" && len(v["hotshard-items L#b"]) != 1 {
			t.Errorf("%s: metrics %v, want one value of L#b", name, v)
		}
	}
}

// TestLateReportsCountWithTheNextWindow checks that a board grows by reports of a window that were unreadable when the
// window ended here. The next window's end decides on them, once.
func TestLateReportsCountWithTheNextWindow(t *testing.T) {
	f := newFixture(settings())
	f.table.failQuery = errPut
	for _, shard := range []string{"a", "b", "c", "d"} {
		f.must(t, batch{writes: scores("all", 0, 100, 1, true), first: 1, shard: shard, final: true}.payload())
	}
	f.table.failQuery = nil
	later := batch{later: 10 * time.Second, writes: scores("all", 0, 6, 11, true), first: 1, shard: "a"}
	f.now = start.Add(19 * time.Second)
	state := f.must(t, later.payload())
	if len(f.shards.changes) > 0 {
		t.Fatalf("while the next window runs: changes %v, want none", f.shards.changes)
	}
	later.writes, later.state, later.final = nil, state, true
	f.must(t, later.payload())
	if !slices.Equal(f.shards.changes, []string{"L#b 1>7"}) || !strings.Contains(f.shards.notes[0].Why, "from 13:00:00") {
		t.Fatalf("changes %v, want L#b 1>7 by the window from 13:00:00: %v\n%s", f.shards.changes, f.shards.notes, f.logs)
	}
	f.now = start.Add(29 * time.Second)
	f.must(t, batch{later: 20 * time.Second, writes: scores("all", 0, 6, 21, true), first: 1, shard: "a", final: true}.payload())
	if len(f.shards.changes) != 1 {
		t.Errorf("changes %v, want one for the window from 13:00:00", f.shards.changes)
	}
}
