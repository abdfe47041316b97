package load_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/tool/load"
)

// firstTwo returns the first two places after 40 requests of the log.
func firstTwo(t *testing.T) (first, second string) {
	t.Helper()
	of := sums(logged(t, 40))
	players := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return int(of[b] - of[a]) })
	return players[0], players[1]
}

func TestVerifyFindsWhatIsWrongOnABoard(t *testing.T) {
	first, second := firstTwo(t)
	without := func(list []fakePlace, player string) []fakePlace {
		return slices.DeleteFunc(slices.Clone(list), func(p fakePlace) bool { return p.Player == player })
	}
	for name, c := range map[string]struct {
		spoil func(b *fakeBoard) // when the last score is in
		want  []string           // texts that the differences contain, any number of each
	}{
		"wrong score": {
			func(b *fakeBoard) { b.entries[first].Score++ },
			[]string{fmt.Sprintf("player %q: score ", first)},
		},
		"missing player": {
			func(b *fakeBoard) { delete(b.entries, second) },
			[]string{fmt.Sprintf("player %q: accepted, but missing", second)},
		},
		"player from nowhere": {
			func(b *fakeBoard) { b.submit("stray", 5) },
			[]string{`player "stray": is ranked, but no score was accepted`},
		},
		"not ranked": {
			func(b *fakeBoard) {
				b.listed = func(list []fakePlace) []fakePlace {
					list = without(list, second)
					for i := range list {
						list[i].Rank = int64(i) + 1
					}
					return list
				}
			},
			[]string{fmt.Sprintf("player %q: has the score ", second)},
		},
		"wrong order": {
			func(b *fakeBoard) {
				b.listed = func(list []fakePlace) []fakePlace {
					list = slices.Clone(list)
					if len(list) > 1 {
						list[0], list[1] = list[1], list[0]
						list[0].Rank, list[1].Rank = 1, 2
					}
					return list
				}
			},
			[]string{fmt.Sprintf("player %q with ", first)},
		},
		"twice": {
			func(b *fakeBoard) {
				b.listed = func(list []fakePlace) []fakePlace { return append(slices.Clone(list), list[:min(1, len(list))]...) }
			},
			[]string{fmt.Sprintf("player %q: is ranked twice", first)},
		},
		"rank in the list": {
			func(b *fakeBoard) {
				b.listed = func(list []fakePlace) []fakePlace {
					list = slices.Clone(list)
					for i := range list {
						list[i].Rank++
					}
					return list
				}
			},
			[]string{"has the rank ", "of the top: rank "},
		},
		"another score in the list": {
			func(b *fakeBoard) {
				b.listed = func(list []fakePlace) []fakePlace {
					list = slices.Clone(list)
					for i := range list {
						list[i].Score++
					}
					return list
				}
			},
			[]string{fmt.Sprintf("player %q: is ranked with ", first)},
		},
		"rank": {
			func(b *fakeBoard) {
				b.standing = func(s fakeStanding) fakeStanding {
					if s.Player == second {
						s.Rank, s.RankError = 5, 2
					}
					return s
				}
			},
			[]string{fmt.Sprintf("player %q: rank 5 with an error of 2, want 2", second)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			scores := 0
			f.onWrite = func(path string) {
				if path == "/v1/scores" {
					scores++
				}
				if scores == 40 {
					scores++
					c.spoil(&f.board)
				}
			}
			r := run(t, f, load.Options{Source: logged(t, 40), Board: "b"})
			if r.Verify.Differences == 0 {
				t.Error("it was not found")
			}
			for _, text := range c.want {
				if !slices.ContainsFunc(r.Verify.First, func(s string) bool { return strings.Contains(s, text) }) {
					t.Errorf("%q lacks %q", r.Verify.First, text)
				}
			}
			for _, s := range r.Verify.First {
				if !strings.Contains(s, "player ") && !strings.Contains(s, "places") {
					t.Errorf("%q does not say which", s)
				}
			}
		})
	}
}
