package parts

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// at returns a place at 1 ms.
func at(t *testing.T, player, points string) boards.Place {
	t.Helper()
	return boards.Place{Player: player, Score: score(t, points), At: time.UnixMilli(1).UTC()}
}

// TestSameHistograms checks when two histograms are equal. The coarser level decides.
func TestSameHistograms(t *testing.T) {
	of := func(level uint, late int64, places ...uint64) Histogram {
		var h Histogram
		for _, p := range places {
			h.Add(p, 1)
		}
		h.raiseTo(level)
		h.AddLate(late)
		return h
	}
	for name, c := range map[string]struct {
		a, b Histogram
		want bool
	}{
		"equal":            {of(0, 1, 4, 5), of(0, 1, 5, 4), true},
		"an entry more":    {of(0, 1, 4, 5), of(0, 1, 4, 5, 5), false},
		"another place":    {of(0, 1, 4, 6), of(0, 1, 4, 5), false},
		"a late row":       {of(0, 1, 4, 5), of(0, 2, 4, 5), false},
		"a coarser equal":  {of(1, 1, 4, 4), of(0, 1, 4, 5), true},
		"a coarser other":  {of(1, 1, 4, 4), of(0, 1, 4, 6), false},
		"none, at a level": {of(3, 0), Histogram{}, true},
	} {
		if c.a.Same(c.b) != c.want || c.b.Same(c.a) != c.want || c.a.Late() != c.a.late {
			t.Errorf("%s: %t and %t, want %t", name, c.a.Same(c.b), c.b.Same(c.a), c.want)
		}
	}
	a, b := of(0, 1, 8, 9), of(2, 5, 3, 8)
	a.Merge(b)
	if got := fmt.Sprintf("level %d, late %d, %v", a.level, a.late, a.cells); got != "level 2, late 6, map[0:1 2:3]" {
		t.Errorf("merged: %s", got)
	}
	wide := of(0, 0, 0, 1, 2, 3, 4)
	for limit, level := range map[int]uint{5: 0, 4: 1, 3: 1, 2: 2, 1: 3} {
		h := wide.Clone()
		if h.Limit(limit); h.level != level || h.Total() != 5 || wide.level != 0 {
			t.Errorf("limited to %d: level %d of %v", limit, h.level, h.cells)
		}
	}
}

// TestPackedEntries checks the highest rev, and the size by which a top is cut.
func TestPackedEntries(t *testing.T) {
	e := TopEntry{Place: at(t, "ann", "1.5"), Rev: MaxEntryRev, Unsure: true}
	packedEntry := appendEntry(nil, e)
	r := &reader{schema.Unpacker{Left: packedEntry}}
	if p, rev := r.readPlace(), r.Uint(); p != e.Place || rev>>1 != MaxEntryRev || rev&1 != 1 || rev != math.MaxInt64 || entrySize(e) != len(packedEntry) {
		t.Errorf("%+v has %d bytes, and is read as %+v with the rev %d", e, entrySize(e), p, rev)
	}
}

// TestRanks checks the rank in a cell and its margin.
func TestRanks(t *testing.T) {
	for _, c := range []struct{ above, own, rank, margin int64 }{
		{0, 0, 1, 0}, {7, 0, 8, 0}, {7, 1, 8, 0}, {7, 2, 8, 1}, {7, 3, 9, 1}, {7, 4, 9, 2}, {0, 101, 51, 50},
	} {
		if rank, margin := (Cell{Above: c.above, Own: c.own}).Rank(); rank != c.rank || margin != c.margin {
			t.Errorf("%d above, %d in the cell: %d +- %d, want %d +- %d", c.above, c.own, rank, margin, c.rank, c.margin)
		}
	}
	var h Histogram
	h.Add(10, 2)
	h.Add(20, -3)
	h.Add(30, 4)
	for place, want := range map[uint64]Cell{9: {Above: 3}, 10: {1, 2, "", ""}, 11: {Above: 1}, 20: {4, 0, "", ""}, 25: {Above: 4}, 30: {Own: 4}, 31: {}} {
		if got := h.CellAt(place); got != want {
			t.Errorf("at %d: %+v, want %+v", place, got, want)
		}
	}
}

// TestReaches checks which places and scores each reach covers, and which reach is wider.
func TestReaches(t *testing.T) {
	floor := at(t, "m", "5")
	list := []struct { // from the narrowest
		Reach
		covers, may string
	}{
		{Reach{}, "", ""},
		{DownTo(floor), "above before itself", "above before itself behind"},
		{DownTo(at(t, "z", "4")), "above before itself behind below", "above before itself behind below"},
		{Everything(), "above before itself behind below", "above before itself behind below"},
	}
	for i, r := range list {
		covers, may := "", ""
		for _, p := range []struct {
			name string
			boards.Place
		}{{"above", at(t, "z", "5.1")}, {"before", at(t, "l", "5")}, {"itself", floor}, {"behind", at(t, "n", "5")}, {"below", at(t, "a", "4")}} {
			if r.Covers(p.Place) {
				covers += " " + p.name
			}
			if r.MayCover(p.Score) {
				may += " " + p.name
			}
		}
		if strings.TrimSpace(covers) != r.covers || strings.TrimSpace(may) != r.may {
			t.Errorf("reach %d covers%s, and may cover%s; want %s, and %s", i, covers, may, r.covers, r.may)
		}
		for j, other := range list {
			if r.Exceeds(other.Reach) != (i > j) {
				t.Errorf("reach %d exceeds reach %d: %t", i, j, i <= j)
			}
			top := &Top{Reach: other.Reach}
			if top.Widen(r.Reach); r.Exceeds(top.Reach) || other.Exceeds(top.Reach) {
				t.Errorf("reach %d widened to reach %d is %+v", j, i, top.Reach)
			}
		}
	}
}

// TestTopsOfSizes checks how many entries a top of each size holds, and that refilling follows only after much was lost.
func TestTopsOfSizes(t *testing.T) {
	for size, want := range map[int]int{1: 21, 100: 120, 104: 124, 105: 126, 1000: 1200} {
		if got := TopSize(size); got != want || got > maxEntries {
			t.Errorf("a top of %d holds %d entries, want %d", size, got, want)
		}
	}
	if maxTopBytes+maxOverhead > 400<<10 || lowTopBytes > maxTopBytes-50*1024 {
		t.Error("a full top must fit in an item, and must lose entries before it is short")
	}
	top := NewTop()
	for i := range 5 {
		top.FoldEntry(EntryState{at(t, fmt.Sprint("p", i), fmt.Sprint(9-i)), 1, true})
	}
	if top.Trim(5); !top.Whole() || top.IsShort(6) {
		t.Errorf("trimmed to its size: whole %t, short %t", top.Whole(), top.IsShort(6))
	}
	if top.Trim(4); top.Whole() || len(top.Entries()) != 4 || top.floor.Player != "p3" || top.IsShort(4) || !top.IsShort(5) {
		t.Errorf("trimmed to 4: %s, short of 4 %t", show(top), top.IsShort(4))
	}
	same := top.Clone()
	if same.MarkSure(); !same.Same(top) || len(top.UnsurePlayers()) != 4 || len(same.UnsurePlayers()) != 0 || !top.Holds("p0") || top.Holds("p4") {
		t.Errorf("a sure copy is %s of %s", show(same), show(top))
	}
	for name, change := range map[string]func(*Top){
		"a rev":   func(t *Top) { t.entries[0].Rev++ },
		"a place": func(t *Top) { t.entries[0].Player = "x" },
		"fewer":   func(t *Top) { t.entries = t.entries[:3] },
		"wider":   func(t *Top) { t.Reach = Everything() },
		"none":    func(t *Top) { t.Reach = Reach{} },
	} {
		other := top.Clone()
		if change(other); other.Same(top) || top.Same(other) {
			t.Errorf("%s: the tops are the same", name)
		}
	}
}

// TestBoundsOfCells checks that a score's rank keys are between the bounds of its cell, and that cells meet, at the extremes
// of scores and levels.
func TestBoundsOfCells(t *testing.T) {
	for _, text := range []string{
		"999999999999999999.999999999", "999999999999999936", "999999999999999935.999999999", "0.000000001", "0",
		"-0.000000001", "-1", "-999999999999999935.999999999", "-999999999999999936", "-999999999999999999.999999999",
	} {
		for _, level := range []uint{0, 1, 52, 62, 63, 64} {
			h := Histogram{level: level}
			s := score(t, text)
			c, key := h.Locate(s), at(t, "p", text).RankKey()
			if key < c.From || key >= c.To {
				t.Errorf("%s at level %d: the key %q is not in %q to %q", text, level, key, c.From, c.To)
			}
			cell := MeritOrder(s.Float()) >> level
			if cell < 1<<63>>level {
				if _, to := h.bounds(cell + 1); to != c.From {
					t.Errorf("%s at level %d: its cell begins at %q, and the next ends at %q", text, level, c.From, to)
				}
			}
		}
	}
	if got := boundary(MeritOrder(highest) + 1); got != "" {
		t.Errorf("above all scores: %q", got)
	}
	if got := boundary(MeritOrder(-highest)); got != schema.LastRankKey {
		t.Errorf("below all scores: %q", got)
	}
}

// TestAround checks which neighbours of a place a top knows.
func TestAround(t *testing.T) {
	top := NewTop()
	for i := range 5 {
		top.FoldEntry(EntryState{at(t, fmt.Sprint("p", i), fmt.Sprint(9-i)), 1, true})
	}
	top.Trim(4)
	for _, c := range []struct {
		points string
		n      int
		want   string
	}{
		{"9.5", 2, "0 [] [p0 p1] true"}, {"8.5", 2, "1 [p0] [p1 p2] true"}, {"7.5", 2, "2 [p0 p1] [p2 p3] true"},
		{"6.5", 2, "3 [p1 p2] [p3] false"}, {"6.5", 1, "3 [p2] [p3] true"}, {"6.5", 0, "3 [] [] true"}, {"5", 0, "4 [] [] false"},
	} {
		ahead, above, below, ok := top.Neighbours(at(t, "x", c.points), c.n)
		if got := fmt.Sprint(ahead, " ", players(above), " ", players(below), " ", ok); got != c.want {
			t.Errorf("%d around %s: %s, want %s", c.n, c.points, got, c.want)
		}
	}
	if ahead, _, below, ok := top.Neighbours(at(t, "p1", "6"), 1); ahead != 2 || len(below) != 1 || !ok {
		t.Errorf("around a held player: %d ahead, %v, %t", ahead, below, ok)
	}
}

func players(list []boards.Place) []string {
	names := []string{}
	for _, p := range list {
		names = append(names, p.Player)
	}
	return names
}
