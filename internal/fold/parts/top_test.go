package parts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

func score(t rapid.TB, text string) boards.Score {
	t.Helper()
	s, err := boards.ParseScore(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// placed draws a player's place on a board whose mode may be lowest. Few scores and times let many places tie.
func placed(t *rapid.T, player string, lowest bool) boards.Place {
	s := score(t, fmt.Sprint(rapid.IntRange(-6, 6).Draw(t, "score")))
	return boards.Place{Player: player, Score: s, At: time.UnixMilli(rapid.Int64Range(0, 2).Draw(t, "at")).UTC(), Lowest: lowest}
}

func player(t *rapid.T) string { return fmt.Sprint("p", rapid.IntRange(0, 40).Draw(t, "player")) }

func TestCompareIsTheOrderOfRankKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lowest := rapid.Bool().Draw(t, "lowest")
		a, b := placed(t, rapid.StringN(1, 4, 8).Draw(t, "a"), lowest), placed(t, rapid.StringN(1, 4, 8).Draw(t, "b"), lowest)
		if got, want := ComparePlaces(a, b), strings.Compare(a.RankKey(), b.RankKey()); got != want {
			t.Fatalf("Compare(%+v, %+v) = %d, want %d", a, b, got, want)
		}
		b.At = time.UnixMilli(0).UTC()
		if c := b.Score.Cmp(a.Score); DownTo(a).MayCover(b.Merit()) != (c == 0 || (c < 0) == lowest) {
			t.Fatalf("a reach down to %+v may cover %v: %t", a, b.Score, c != 0)
		}
	})
	first, second := at(t, "b", "9"), at(t, "a", "9")
	second.At = second.At.Add(time.Millisecond)
	if got := ComparePlaces(first, second); got >= 0 || got != strings.Compare(first.RankKey(), second.RankKey()) {
		t.Errorf("the earlier of two equal scores: %d", got)
	}
}

// model has all entries by player.
type model map[string]EntryState

func (m model) ranked() []boards.Place {
	var list []boards.Place
	for _, s := range m {
		if s.Present {
			list = append(list, s.Place)
		}
	}
	slices.SortFunc(list, ComparePlaces)
	return list
}

// write changes a player's entry.
func (m model) write(t *rapid.T, rev int64, lowest bool) EntryState {
	s := EntryState{Place: placed(t, player(t), lowest), Rev: rev, Present: rapid.IntRange(0, 4).Draw(t, "gone") > 0}
	if old := m[s.Player]; !s.Present {
		s = EntryState{Place: boards.Place{Player: s.Player}, Rev: old.Rev}
	}
	m[s.Player] = s
	return s
}

// fold folds a record into a top, with an index that doesn't lag.
func fold(top *Top, m model, record EntryState, size int) {
	if top.FoldRecord(record) {
		top.FoldEntry(m[record.Player])
	}
	top.Trim(TopSize(size))
	if !top.IsShort(size) {
		return
	}
	all := m.ranked()
	if len(all) <= TopSize(size) {
		top.Widen(Everything())
	} else {
		all = all[:TopSize(size)]
		top.Widen(DownTo(all[len(all)-1]))
	}
	for _, p := range all {
		top.FoldEntry(m[p.Player])
	}
	top.Trim(TopSize(size))
}

// TestTopIsTheFirstInRank folds random records and redeliveries, and compares the top with the model after
// each.
func TestTopIsTheFirstInRank(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "size")
		top, m, lowest := NewTop(), model{}, rapid.Bool().Draw(t, "lowest")
		var records []EntryState
		for rev := range rapid.Int64Range(1, 150).Draw(t, "writes") {
			records = append(records, m.write(t, rev+1, lowest))
			fold(top, m, records[len(records)-1], size)
			again := records[rapid.IntRange(0, len(records)-1).Draw(t, "again")]
			fold(top, m, again, size)
			compare(t, top, m, size)
			restored, err := ParseTop(top.Bytes(), top.Whole())
			if err != nil || !restored.Same(top) {
				t.Fatalf("%+v was read back as %+v, %v", top, restored, err)
			}
		}
	})
}

func compare(t *rapid.T, top *Top, m model, size int) {
	t.Helper()
	all := m.ranked()
	if held := len(top.Entries()); held < min(size, len(all)) || held > TopSize(size) || top.Whole() != (held == len(all)) && top.Whole() {
		t.Fatalf("the top of size %d has %d of %d players, whole: %t", size, held, len(all), top.Whole())
	}
	for i, e := range top.Entries() {
		if e.Place != all[i] || e.Rev != m[e.Player].Rev {
			t.Fatalf("rank %d is %+v, want %+v", i+1, e, m[all[i].Player])
		}
	}
	for _, p := range all[len(top.Entries()):] {
		if top.Covers(p) {
			t.Fatalf("the top lacks %+v, which it covers down to %+v", p, top.floor)
		}
	}
}

// TestOffer checks what a record does to a top of 24 players.
func TestOffer(t *testing.T) {
	at := func(player, points string) boards.Place {
		return boards.Place{Player: player, Score: score(t, points), At: time.UnixMilli(5).UTC()}
	}
	top := NewTop()
	for i := range 30 {
		top.FoldEntry(EntryState{at(fmt.Sprintf("p%02d", i), fmt.Sprint(100-i)), 10, true})
	}
	top.Trim(TopSize(4)) // keeps 24, down to 77 points
	for _, c := range []struct {
		name string
		s    EntryState
		asks bool
		held string // the player's score in the top; "" for none
	}{
		{"behind the last", EntryState{at("x", "76"), 1, true}, false, ""},
		{"before the last", EntryState{at("x", "77.5"), 1, true}, true, ""},
		{"before the last by name", EntryState{at("a", "77"), 1, true}, true, ""},
		{"gone and not in the top", EntryState{boards.Place{Player: "x"}, 1, false}, false, ""},
		{"an older record", EntryState{at("p00", "3"), 9, true}, false, "100"},
		{"a redelivery", EntryState{at("p00", "100"), 10, true}, false, "100"},
		{"an older removal", EntryState{boards.Place{Player: "p00"}, 9, false}, false, "100"},
		{"another score in the top", EntryState{at("p00", "90.5"), 11, true}, false, "90.5"},
		{"a score behind the last", EntryState{at("p01", "3"), 11, true}, false, ""},
		{"a removal", EntryState{boards.Place{Player: "p02"}, 10, false}, false, ""},
	} {
		asks, held := top.FoldRecord(c.s), ""
		if at := top.indexOf(c.s.Player); at >= 0 {
			held = top.entries[at].Score.String()
		}
		if asks != c.asks || held != c.held {
			t.Errorf("%s: asks %t, the top has %q; want %t, %q", c.name, asks, held, c.asks, c.held)
		}
	}
	if n := len(top.Entries()); n != 22 || top.Entries()[0].Player != "p03" || top.IsShort(22) || !top.IsShort(23) {
		t.Errorf("%d entries, want 22 from p03 on: %+v", n, top.Entries())
	}
}

// TestSure checks that a player whom a read entered stays unsure until another read finds the same rev.
func TestSure(t *testing.T) {
	top := NewTop()
	one := EntryState{boards.Place{Player: "a", At: time.UnixMilli(1).UTC()}, 1, true}
	two := one
	two.Rev = 2
	top.FoldEntry(one)
	if top.FoldRecord(two) || len(top.UnsurePlayers()) != 1 {
		t.Error("after a record the player is sure, want unsure")
	}
	top.FoldEntry(EntryState{one.Place, 3, true})
	if len(top.UnsurePlayers()) != 1 {
		t.Error("after a read of another rev the player is sure, want unsure")
	}
	top.FoldEntry(EntryState{one.Place, 3, true})
	if len(top.UnsurePlayers()) != 0 {
		t.Error("after a read of the same rev the player is unsure, want sure")
	}
	top.FoldEntry(EntryState{one.Place, 4, true})
	if len(top.UnsurePlayers()) != 0 {
		t.Error("after a newer rev a sure player is unsure, want sure")
	}
}

// TestLongNames checks that the top's bytes are bounded. A top that is full of bytes is not short, so that
// folds don't query the index each time.
func TestLongNames(t *testing.T) {
	top := NewTop()
	for i := range 1000 {
		name := fmt.Sprintf("%04d", i) + strings.Repeat("x", 508)
		top.FoldEntry(EntryState{boards.Place{Player: name, At: time.UnixMilli(int64(1000 + i)).UTC()}, 1, true}) // all have the same size
	}
	top.Trim(TopSize(1000))
	if got, want := len(top.Entries()), (maxTopBytes-maxOverhead)/entrySize(top.entries[0]); got != want {
		t.Errorf("%d entries fit, want %d", got, want)
	}
	if n := len(top.Bytes()); n > maxTopBytes || n < maxTopBytes*9/10 || top.Whole() || top.IsShort(1000) {
		t.Errorf("%d bytes of at most %d, whole: %t, short: %t; want neither", n, maxTopBytes, top.Whole(), top.IsShort(1000))
	}
	top.Trim(300)
	if len(top.Entries()) != 300 || !top.IsShort(1000) {
		t.Errorf("%d entries, short: %t; want 300, short", len(top.Entries()), top.IsShort(1000))
	}
}

func FuzzParseTop(f *testing.F) {
	top := NewTop()
	top.FoldEntry(EntryState{boards.Place{Player: "p", At: time.UnixMilli(5).UTC()}, 7, true})
	f.Add(top.Bytes(), true)
	top.FoldEntry(EntryState{boards.Place{Player: "q", At: time.UnixMilli(5).UTC()}, 7, true})
	top.Trim(1)
	f.Add(top.Bytes(), false)
	f.Add([]byte{1, 200, 200, 1}, true)
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		top, err := ParseTop(data, whole)
		if err != nil {
			return
		}
		if again, err := ParseTop(top.Bytes(), whole); err != nil || !again.Same(top) {
			t.Fatalf("%+v was read back as %+v, %v", top, again, err)
		}
	})
}
