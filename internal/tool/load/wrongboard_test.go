package load_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/tool/load"
)

// firstTwo returns the first two players after 40 requests of the log.
func firstTwo(t *testing.T) (first, second string) {
	t.Helper()
	of := sums(logged(t, 40))
	players := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return int(of[b] - of[a]) })
	return players[0], players[1]
}

// relisted returns a fault that changes a copy of the ranking.
func relisted(change func(list []fakePlace) []fakePlace) func(*fakeBoard) {
	return func(b *fakeBoard) {
		b.listed = func(list []fakePlace) []fakePlace { return change(slices.Clone(list)) }
	}
}

// TestVerifyFindsDifferencesOnBoard spoils a board or its reads after the last score. Verification must report it.
func TestVerifyFindsDifferencesOnBoard(t *testing.T) {
	first, second := firstTwo(t)
	for name, c := range map[string]struct {
		spoil func(b *fakeBoard) // is called after the last score
		want  []string           // texts in the differences
	}{
		"wrong score": {
			func(b *fakeBoard) { b.entries[first].Score++ },
			[]string{fmt.Sprintf("player %q: score ", first)},
		},
		"missing player": {
			func(b *fakeBoard) { delete(b.entries, second) },
			[]string{fmt.Sprintf("player %q: accepted, but missing", second)},
		},
		"unknown player": {
			func(b *fakeBoard) { b.submit("stray", 5) },
			[]string{`player "stray": is ranked, but no score was accepted`},
		},
		"not ranked": {
			relisted(func(list []fakePlace) []fakePlace {
				list = slices.DeleteFunc(list, func(p fakePlace) bool { return p.Player == second })
				for i := range list {
					list[i].Rank = int64(i) + 1
				}
				return list
			}),
			[]string{fmt.Sprintf("player %q: has the score ", second)},
		},
		"wrong order": {
			relisted(func(list []fakePlace) []fakePlace {
				if len(list) > 1 {
					list[0], list[1] = list[1], list[0]
					list[0].Rank, list[1].Rank = 1, 2
				}
				return list
			}),
			[]string{fmt.Sprintf("player %q with ", first)},
		},
		"twice": {
			relisted(func(list []fakePlace) []fakePlace { return append(list, list[:min(1, len(list))]...) }),
			[]string{fmt.Sprintf("player %q: is ranked twice", first)},
		},
		"rank in the list": {
			relisted(func(list []fakePlace) []fakePlace {
				for i := range list {
					list[i].Rank++
				}
				return list
			}),
			[]string{"has the rank ", "of the top: rank "},
		},
		"another score in the list": {
			relisted(func(list []fakePlace) []fakePlace {
				for i := range list {
					list[i].Score++
				}
				return list
			}),
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
				t.Error("verification found no difference")
			}
			for _, text := range c.want {
				if !slices.ContainsFunc(r.Verify.First, func(s string) bool { return strings.Contains(s, text) }) {
					t.Errorf("the differences are %q, want %q", r.Verify.First, text)
				}
			}
			for _, s := range r.Verify.First {
				if !strings.Contains(s, "player ") && !strings.Contains(s, "places") {
					t.Errorf("the difference %q names no player", s)
				}
			}
		})
	}
}
