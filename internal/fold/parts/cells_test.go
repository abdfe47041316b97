package parts

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// anyScore draws a score. Many are close to each other, and some are the greatest.
func anyScore(t *rapid.T) boards.Score {
	return score(t, rapid.OneOf(
		rapid.StringMatching(`-?[0-9]{1,18}`), rapid.StringMatching(`-?[0-9]{1,18}\.[0-9]{1,9}`),
		rapid.StringMatching(`-?[0-3](\.[0-9]{1,2})?`), rapid.StringMatching(`-?9{17,18}\.[89]{9}`), rapid.StringMatching(`-?1[0-9]{3}`),
		rapid.StringMatching(`-?90071992547409(8[0-9]|9[0-9])(\.[05])?`), // whole numbers that no float64 has
	).Draw(t, "score"))
}

// split counts scores in the fragments of three stream shards, stores them, and returns their sum. One
// fragment may count an entry that another subtracts.
func split(t *rapid.T, scores []boards.Score, cells int) Histogram {
	parts := make([]Histogram, 3)
	for _, s := range scores {
		parts[rapid.IntRange(0, 2).Draw(t, "part")].AddMerit(s, 1)
	}
	for range rapid.IntRange(0, 5).Draw(t, "moves") {
		s := anyScore(t)
		parts[0].AddMerit(s, 1)
		parts[1].AddMerit(s, -1)
	}
	var whole Histogram
	for _, p := range parts {
		p.Limit(cells)
		restored, err := parseHistogram(p.Bytes())
		if err != nil || restored.level != p.level || len(restored.cells) != len(p.cells) {
			t.Fatalf("%+v was read back as %+v, %v", p, restored, err)
		}
		whole.Merge(restored)
	}
	return whole
}

// TestRankIsWithinItsMargin compares ranks with a sorted list. The numbers of entries in a score's cell and
// above it must be exact.
func TestRankIsWithinItsMargin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores := make([]boards.Score, rapid.IntRange(1, 80).Draw(t, "players"))
		places := make([]boards.Place, len(scores))
		lowest := rapid.Bool().Draw(t, "lowest")
		for i := range scores {
			places[i] = boards.Place{Player: fmt.Sprint("p", i), Score: anyScore(t), At: time.UnixMilli(3).UTC(), Lowest: lowest}
			scores[i] = places[i].Merit()
		}
		h := split(t, scores, rapid.IntRange(1, 60).Draw(t, "cells"))
		if h.Total() != int64(len(scores)) {
			t.Fatalf("%d entries, want %d", h.Total(), len(scores))
		}
		slices.SortFunc(places, ComparePlaces)
		for i, p := range places {
			c := h.Locate(p.Merit())
			rank, margin := c.Rank()
			if off := rank - int64(i+1); max(off, -off) > margin {
				t.Fatalf("%v: rank %d +- %d, want %d", p.Score, rank, margin, i+1)
			}
			before, in := 0, 0
			for _, other := range places {
				if key := other.RankKey(); key >= c.From && key < c.To {
					in++
					if key < p.RankKey() {
						before++
					}
				}
			}
			if int64(in) != c.Own || c.Above+int64(before) != int64(i) {
				t.Fatalf("%v: %d in its cell, want %d; %d above and %d before in it, want %d", p.Score, in, c.Own, c.Above, before, i)
			}
		}
	})
}

// TestOrder checks that Order keeps the order of scores, and that unorder reverses it.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyScore(t), anyScore(t)
		if x, y := a.Float(), b.Float(); (x < y) != (MeritOrder(x) < MeritOrder(y)) || unorder(MeritOrder(x)) != x {
			t.Fatalf("%v and %v have the order of %d and %d, which unorder gives as %v for %v", a, b, MeritOrder(x), MeritOrder(y), unorder(MeritOrder(x)), x)
		}
	})
}

func FuzzParseHistogram(f *testing.F) {
	var h Histogram
	for i := range 50 {
		h.Add(MeritOrder(float64(i*i)), int64(i-3))
	}
	f.Add(h.Bytes())
	h.Limit(5)
	f.Add(h.Bytes())
	f.Add([]byte{1, 64, 0, 1, 0, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseHistogram(data)
		if err != nil {
			return
		}
		again, err := parseHistogram(h.Bytes())
		if err != nil || again.level != h.level || again.Total() != h.Total() {
			t.Fatalf("%+v was read back as %+v, %v", h, again, err)
		}
		again.Locate(boards.Score{})
		again.Merge(h)
	})
}
