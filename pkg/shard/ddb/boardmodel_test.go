package ddb_test

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

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// boardModel is a leaderboard in memory, the plain way.
type boardModel struct {
	settings  ddb.BoardSettings
	retention time.Duration
	entries   map[string]map[string]ddb.Place // by period and player
	expires   map[string]time.Time            // by period
}

func newBoardModel(s ddb.BoardSettings, retention time.Duration) *boardModel {
	return &boardModel{s, retention, map[string]map[string]ddb.Place{}, map[string]time.Time{}}
}

func (m *boardModel) submit(scores []ddb.PlayerScore, now time.Time) {
	for _, p := range m.settings.Periods {
		label := p.Label(now)
		if m.entries[label] == nil {
			m.entries[label] = map[string]ddb.Place{}
			if end := p.End(now); !end.IsZero() {
				m.expires[label] = end.Add(m.retention)
			}
		}
		for player, score := range m.coalesced(scores) {
			m.play(m.entries[label], ddb.Place{Player: player, Score: score, At: now})
		}
	}
}

func (m *boardModel) coalesced(scores []ddb.PlayerScore) map[string]ddb.Score {
	one := map[string]ddb.Score{}
	for _, s := range scores {
		old, again := one[s.Player]
		switch {
		case again && m.settings.Mode == ddb.Total:
			one[s.Player], _ = old.Add(s.Score)
		case again && m.settings.Mode == ddb.Best && old.Cmp(s.Score) > 0:
		default:
			one[s.Player] = s.Score
		}
	}
	return one
}

func (m *boardModel) play(entries map[string]ddb.Place, p ddb.Place) {
	old, held := entries[p.Player]
	switch {
	case held && m.settings.Mode == ddb.Best && p.Score.Cmp(old.Score) <= 0:
	case held && m.settings.Mode == ddb.Latest && p.At.Before(old.At):
	case held && m.settings.Mode == ddb.Total:
		if p.Score != (ddb.Score{}) {
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
	for _, p := range []ddb.Period{ddb.AllTime, ddb.Daily, ddb.Weekly} {
		delete(m.entries[p.Label(now)], player)
	}
}

// ranking returns the places of a period in rank order.
func (m *boardModel) ranking(label string, now time.Time) []ddb.Place {
	if end, ok := m.expires[label]; ok && !now.Before(end) {
		return nil
	}
	return slices.SortedFunc(maps.Values(m.entries[label]), func(a, b ddb.Place) int {
		if c := b.Score.Cmp(a.Score); c != 0 {
			return c
		}
		if c := a.At.Compare(b.At); c != 0 {
			return c
		}
		return strings.Compare(a.Player, b.Player)
	})
}

func score(t interface{ Fatal(...any) }, text string) ddb.Score {
	s, err := ddb.ParseScore(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// samePlaces compares two parts of a ranking.
func samePlaces(t rapid.TB, what string, got, want []ddb.Place) {
	t.Helper()
	text := func(p ddb.Place) string { return fmt.Sprintf("%s %s %s", p.Score, p.At.UTC(), p.Player) }
	lines := func(list []ddb.Place) (out []string) {
		for _, p := range list {
			out = append(out, text(p))
		}
		return out
	}
	if diff := cmp.Diff(lines(want), lines(got)); diff != "" {
		t.Fatalf("%s: want -, got +\n%s", what, diff)
	}
}

// compareBoard compares all ways of reading a period with the model.
func compareBoard(t *rapid.T, boards *ddb.Leaderboards, board, label string, m *boardModel, now time.Time) {
	t.Helper()
	want := m.ranking(label, now)
	n := rapid.IntRange(1, len(want)+2).Draw(t, "top")
	top, err := boards.Top(t.Context(), board, label, n, now)
	if err != nil {
		t.Fatal(err)
	}
	samePlaces(t, "top of "+label, top, want[:min(n, len(want))])
	if len(want) == 0 {
		return
	}
	rank := rapid.IntRange(0, len(want)-1).Draw(t, "rank")
	of := want[rank]
	if got, rev, err := boards.Entry(t.Context(), board, label, of.Player, now); err != nil || got != of || rev < 1e15 {
		t.Fatalf("entry: %v, rev %d, %v; want %v", got, rev, err, of)
	}
	n = rapid.IntRange(1, 4).Draw(t, "around")
	above, below, err := boards.Around(t.Context(), board, label, of, n, now)
	if err != nil {
		t.Fatal(err)
	}
	samePlaces(t, "above", above, want[max(0, rank-n):rank])
	samePlaces(t, "below", below, want[rank+1:min(len(want), rank+1+n)])
	compareCount(t, boards, board, label, want, rank, now)
}

func compareCount(t *rapid.T, boards *ddb.Leaderboards, board, label string, want []ddb.Place, rank int, now time.Time) {
	t.Helper()
	for _, c := range []struct {
		what     string
		from, to string
		want     int
	}{
		{"all", "", "", len(want)},
		{"before a place", "", want[rank].RankKey(), rank},
		{"from a place on", want[rank].RankKey(), "", len(want) - rank},
		{"higher scores", "", ddb.ScoreBound(want[rank].Score), firstWith(want, want[rank].Score)},
		{"of the same score before it", ddb.ScoreBound(want[rank].Score), want[rank].RankKey(), rank - firstWith(want, want[rank].Score)},
		{"nothing", want[rank].RankKey(), want[0].RankKey(), 0},
	} {
		n, more, err := boards.Count(t.Context(), board, label, c.from, c.to, 1000, now)
		if err != nil || more || n != c.want {
			t.Fatalf("count of %s in %s: %d, more %v, %v; want %d", c.what, label, n, more, err, c.want)
		}
	}
	limit := rapid.IntRange(1, len(want)).Draw(t, "limit")
	if n, more, err := boards.Count(t.Context(), board, label, "", "", limit, now); err != nil || n < limit || !more && n != len(want) {
		t.Fatalf("count up to %d of %d: %d, more %v, %v", limit, len(want), n, more, err)
	}
}

func firstWith(list []ddb.Place, s ddb.Score) int {
	return slices.IndexFunc(list, func(p ddb.Place) bool { return p.Score == s })
}

var (
	anyPlayer = rapid.SampledFrom([]string{"ann", "bob", "b#all#7", "é#1", "0", "~probe", "c", "d", "e", "f"})
	anyPoints = rapid.SampledFrom([]string{"0", "1", "-1", "2", "0.5", "-0.000000001", "3", "999999999999999.999999999", "-7.25", "100"})
	anyPause  = rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, 900 * time.Microsecond, time.Second, 4 * time.Second, time.Hour, 20 * time.Hour})
)

func anyScores(t *rapid.T) []ddb.PlayerScore {
	scores := make([]ddb.PlayerScore, rapid.IntRange(1, 8).Draw(t, "scores"))
	for i := range scores {
		scores[i] = ddb.PlayerScore{Player: anyPlayer.Draw(t, "player"), Score: score(t, anyPoints.Draw(t, "score"))}
	}
	return scores
}

func anyPeriods(t *rapid.T) []ddb.Period {
	all := []ddb.Period{ddb.AllTime, ddb.Daily, ddb.Weekly}
	return all[:rapid.IntRange(1, 3).Draw(t, "periods")]
}

// boardRun is a board and its model, to which the same is done.
type boardRun struct {
	*deployment
	board  string
	boards *ddb.Leaderboards
	model  *boardModel
	now    time.Time
}

func (r *boardRun) configure(t *rapid.T) {
	if err := r.boards.Configure(t.Context(), r.board, r.model.settings); err != nil {
		t.Fatal(err)
	}
}

// step does one of what comes to a board.
func (r *boardRun) step(t *rapid.T) {
	r.now = r.now.Add(anyPause.Draw(t, "pause"))
	switch rapid.SampledFrom([]string{"submit", "submit", "submit", "submit", "remove", "shards", "periods"}).Draw(t, "step") {
	case "submit":
		scores := anyScores(t)
		if err := errors.Join(r.boards.Submit(t.Context(), r.board, scores, r.now)...); err != nil {
			t.Fatal(err)
		}
		r.model.submit(scores, r.now.Truncate(time.Millisecond))
	case "remove":
		player := anyPlayer.Draw(t, "player")
		if err := r.boards.Remove(t.Context(), r.board, player, r.now); err != nil {
			t.Fatal(err)
		}
		r.model.remove(player, r.now)
	case "shards":
		count := rapid.IntRange(1, 5).Draw(t, "shards")
		if _, err := r.changer(ddb.ChangerOptions{}).Pin(t.Context(), "L#"+r.board, count, note, r.now); err != nil && !errors.Is(err, ddb.ErrNoChange) {
			t.Fatal(err)
		}
	case "periods":
		r.model.settings.Periods = anyPeriods(t)
		r.configure(t)
	}
}

// TestBoardEqualsTheModel does what comes to a board in a random order, and
// compares all that can be read of it.
func TestBoardEqualsTheModel(t *testing.T) {
	lane.Checks(t, 8)
	d := deploy(t)
	const retention = 48 * time.Hour
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		mode := rapid.SampledFrom([]ddb.Mode{ddb.Best, ddb.Latest, ddb.Total}).Draw(t, "mode")
		r := &boardRun{
			deployment: d, board: fmt.Sprintf("b#%d", run),
			boards: ddb.NewLeaderboards(d.client, d.names.Items, ddb.NewMap(d.client, d.names.ShardMap), ddb.Unwatched{}, retention),
			model:  newBoardModel(ddb.BoardSettings{Mode: mode, Periods: anyPeriods(t)}, retention),
			now:    time.Date(2126, 1, 6, 22, 0, 0, 0, time.UTC), // a Sunday; the engine's TTL goes by the real time
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
