package boards_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// boardModel is a leaderboard in memory.
type boardModel struct {
	settings  boards.Settings
	retention time.Duration
	entries   map[string]map[string]boards.Place // by period and player
	expires   map[string]time.Time               // by period
}

func newBoardModel(s boards.Settings, retention time.Duration) *boardModel {
	return &boardModel{s, retention, map[string]map[string]boards.Place{}, map[string]time.Time{}}
}

func (m *boardModel) submit(scores []boards.PlayerScore, now time.Time) {
	for _, p := range m.settings.Periods {
		label := p.Label(now)
		if m.entries[label] == nil {
			m.entries[label] = map[string]boards.Place{}
			if end := p.End(now); !end.IsZero() {
				m.expires[label] = end.Add(m.retention)
			}
		}
		for player, score := range m.coalesced(scores) {
			m.play(m.entries[label], boards.Place{Player: player, Score: score, At: now, Lowest: m.settings.Mode == boards.Lowest})
		}
	}
}

func (m *boardModel) coalesced(scores []boards.PlayerScore) map[string]boards.Score {
	one := map[string]boards.Score{}
	for _, s := range scores {
		old, again := one[s.Player]
		switch {
		case again && m.settings.Mode == boards.Total:
			one[s.Player], _ = old.Add(s.Score)
		case again && m.settings.Mode == boards.Best && old.Cmp(s.Score) > 0:
		case again && m.settings.Mode == boards.Lowest && old.Cmp(s.Score) < 0:
		default:
			one[s.Player] = s.Score
		}
	}
	return one
}

func (m *boardModel) play(entries map[string]boards.Place, p boards.Place) {
	old, held := entries[p.Player]
	switch {
	case held && m.settings.Mode == boards.Best && p.Score.Cmp(old.Score) <= 0:
	case held && m.settings.Mode == boards.Lowest && p.Score.Cmp(old.Score) >= 0:
	case held && m.settings.Mode == boards.Latest && p.At.Before(old.At):
	case held && m.settings.Mode == boards.Total:
		if p.Score != (boards.Score{}) {
			p.Score, _ = p.Score.Add(old.Score)
			if old.At.After(p.At) {
				p.At = old.At
			}
			entries[p.Player] = p
		}
	default:
		entries[p.Player] = p
	}
}

func (m *boardModel) remove(player string, now time.Time) {
	for _, p := range boards.Periods() {
		delete(m.entries[p.Label(now)], player)
	}
}

// ranking returns the places of a period in rank order.
func (m *boardModel) ranking(label string, now time.Time) []boards.Place {
	if end, ok := m.expires[label]; ok && !now.Before(end) {
		return nil
	}
	return slices.SortedFunc(maps.Values(m.entries[label]), func(a, b boards.Place) int {
		if c := b.Score.Cmp(a.Score); c != 0 && m.settings.Mode == boards.Lowest {
			return -c
		} else if c != 0 {
			return c
		}
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Player, b.Player)
	})
}

func score(t require.T, text string) boards.Score {
	s, err := boards.ParseScore(text)
	require.NoError(t, err)
	return s
}

// samePlaces compares places with the wanted ones, in order.
func samePlaces(t rapid.TB, what string, got, want []boards.Place) {
	t.Helper()
	text := func(p boards.Place) string { return fmt.Sprintf("%s %s %s", p.Score, p.At.UTC(), p.Player) }
	lines := func(list []boards.Place) (out []string) {
		for _, p := range list {
			out = append(out, text(p))
		}
		return out
	}
	if diff := cmp.Diff(lines(want), lines(got)); diff != "" {
		t.Fatalf("%s: want -, got +\n%s", what, diff)
	}
}

// compareBoard compares all reads of a period with the model.
func compareBoard(t *rapid.T, rankings *boards.Boards, board, label string, m *boardModel, now time.Time) {
	t.Helper()
	want := m.ranking(label, now)
	n := rapid.IntRange(1, len(want)+2).Draw(t, "top")
	top, err := rankings.Top(t.Context(), board, label, n, now)
	require.NoError(t, err)
	samePlaces(t, "top of "+label, top, want[:min(n, len(want))])
	if len(want) == 0 {
		return
	}
	rank := rapid.IntRange(0, len(want)-1).Draw(t, "rank")
	of := want[rank]
	if got, err := rankings.Entry(t.Context(), board, label, of.Player, now); err != nil || got.Place != of || got.Rev < 1e15 {
		t.Fatalf("Entry = %v, %v; want %v", got, err, of)
	}
	n = rapid.IntRange(1, 4).Draw(t, "around")
	above, below, err := rankings.Around(t.Context(), board, label, of, n, now)
	require.NoError(t, err)
	samePlaces(t, "above", above, want[max(0, rank-n):rank])
	samePlaces(t, "below", below, want[rank+1:min(len(want), rank+1+n)])
	compareCount(t, rankings, board, label, want, rank, now)
}

func compareCount(t *rapid.T, rankings *boards.Boards, board, label string, want []boards.Place, rank int, now time.Time) {
	t.Helper()
	for _, c := range []struct {
		what     string
		from, to string
		want     int
	}{
		{"all", "", "", len(want)},
		{"before a place", "", want[rank].RankKey(), rank},
		{"from a place on", want[rank].RankKey(), "", len(want) - rank},
		{"better scores", "", boards.MeritBound(want[rank].Merit()), firstWith(want, want[rank].Score)},
		{"of the same score before it", boards.MeritBound(want[rank].Merit()), want[rank].RankKey(), rank - firstWith(want, want[rank].Score)},
		{"nothing", want[rank].RankKey(), want[0].RankKey(), 0},
	} {
		n, more, err := rankings.Count(t.Context(), board, label, c.from, c.to, 1000, now)
		if err != nil || more || n != c.want {
			t.Fatalf("Count of %s in %s = %d, more %v, %v; want %d", c.what, label, n, more, err, c.want)
		}
	}
	limit := rapid.IntRange(1, len(want)).Draw(t, "limit")
	if n, more, err := rankings.Count(t.Context(), board, label, "", "", limit, now); err != nil || n < limit || !more && n != len(want) {
		t.Fatalf("Count up to %d of %d entries = %d, more %v, %v", limit, len(want), n, more, err)
	}
}

// firstWith returns the rank of the first place with a score.
func firstWith(list []boards.Place, s boards.Score) int {
	return slices.IndexFunc(list, func(p boards.Place) bool { return p.Score == s })
}

var (
	anyPlayer = rapid.SampledFrom([]string{"ann", "bob", "b#all#7", "é#1", "0", "~probe", "c", "d", "e", "f"})
	anyPoints = rapid.SampledFrom([]string{"0", "1", "-1", "2", "0.5", "-0.000000001", "3", "999999999999999.999999999", "-7.25", "100"})
	anyPause  = rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, 900 * time.Microsecond, time.Second, 4 * time.Second, time.Hour, 20 * time.Hour})
)

func anyScores(t *rapid.T) []boards.PlayerScore {
	scores := make([]boards.PlayerScore, rapid.IntRange(1, 8).Draw(t, "scores"))
	for i := range scores {
		scores[i] = boards.PlayerScore{Player: anyPlayer.Draw(t, "player"), Score: score(t, anyPoints.Draw(t, "score"))}
	}
	return scores
}

func anyPeriods(t *rapid.T) []boards.Period {
	all := rapid.Permutation(boards.Periods()).Draw(t, "order")
	return all[:rapid.IntRange(1, len(all)).Draw(t, "periods")]
}

// boardRun applies the same calls to a board and its model.
type boardRun struct {
	*deployment
	board  string
	boards *boards.Boards
	model  *boardModel
	now    time.Time
}

func (r *boardRun) configure(t *rapid.T) {
	require.NoError(t, r.boards.Configure(t.Context(), r.board, r.model.settings))
}

// step makes one random call.
func (r *boardRun) step(t *rapid.T) {
	r.now = r.now.Add(anyPause.Draw(t, "pause"))
	switch rapid.SampledFrom([]string{"submit", "submit", "submit", "submit", "remove", "shards", "periods"}).Draw(t, "step") {
	case "submit":
		scores := anyScores(t)
		require.NoError(t, errors.Join(r.boards.Submit(t.Context(), r.board, scores, r.now)...))
		r.model.submit(scores, r.now.Truncate(time.Millisecond))
	case "remove":
		player := anyPlayer.Draw(t, "player")
		r.deployment.remove(t, r.board, player, r.now)
		r.model.remove(player, r.now)
	case "shards":
		count := rapid.IntRange(1, 5).Draw(t, "shards")
		if _, err := r.Changer(shardmap.ChangerOptions{}).Pin(t.Context(), "L#"+r.board, count, libtest.Note, r.now); err != nil {
			t.Fatal(err)
		}
	case "periods":
		r.model.settings.Periods = anyPeriods(t)
		r.configure(t)
	}
}

// TestBoardEqualsTheModel checks that all reads after random calls equal those of a leaderboard in memory.
func TestBoardEqualsTheModel(t *testing.T) {
	require.Checks(t, 8)
	d := deploy(t)
	const retention = 48 * time.Hour
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		mode := rapid.SampledFrom([]boards.Mode{boards.Best, boards.Lowest, boards.Latest, boards.Total}).Draw(t, "mode")
		r := &boardRun{
			deployment: d, board: fmt.Sprintf("b#%d", run),
			boards: boards.New(d.Client, d.Names.Items, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), boards.Options{Retention: retention}),
			model:  newBoardModel(boards.Settings{Mode: mode, Periods: anyPeriods(t)}, retention),
			now:    time.Date(2126, 3, 31, 22, 0, 0, 0, time.UTC), // a Sunday, the last day of a month; the engine's TTL uses the real time
		}
		r.configure(t)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			r.step(t)
		}
		for _, label := range slices.Sorted(maps.Keys(r.model.entries)) {
			compareBoard(t, r.boards, r.board, label, r.model, r.now)
		}
	})
}
