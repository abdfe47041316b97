package load_test

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/tool/load"
	"github.com/hotshard/hotshard/internal/tool/workload"
)

// TestScoresAreSentAndVerified checks three loads of the same requests: the first sets up the board, and each adds to its
// scores.
func TestScoresAreSentAndVerified(t *testing.T) {
	t.Parallel()
	f, source := newFake(t), logged(t, 300)
	for round := range int64(3) {
		result := run(t, f, load.Options{Source: source, Board: "clients/x", Keyed: round == 1, Batch: int(1 + 20*round)})
		wantClean(t, result, 300)
		want := sums(source)
		for player := range want {
			want[player] *= round + 1
		}
		got := map[string]int64{}
		for player, e := range f.board.entries {
			got[player] = e.Score
		}
		if !maps.Equal(got, want) || result.Verify.Players != len(want) || result.Board != "clients/x" {
			t.Errorf("round %d: %d players verified, scores %v, want %v", round, result.Verify.Players, got, want)
		}
	}
	if want := `{"board":"clients/x","mode":"sum","periods":["all"],"size":100}`; f.board.settings != want {
		t.Errorf("settings %s, want %s", f.board.settings, want)
	}
	if f.calls["/v1/scores keyed=true"] != 15 || f.calls["/v1/scores keyed=false"] != 308 {
		t.Errorf("calls %v, want 15 keyed ones with scores and 308 others", f.calls)
	}
}

// TestOtherPlayersAreRanked checks that players of other loads are part of the verified ranking.
func TestOtherPlayersAreRanked(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for i := range 400 {
		f.board.submit(fmt.Sprint("other", i), int64(i*50))
	}
	f.board.stale = nil
	result := run(t, f, load.Options{Source: generated(t, workload.Uniform, 200), Board: "b"})
	wantClean(t, result, 200)
	if result.Verify.Players != 20 || len(f.board.entries) != 420 {
		t.Errorf("%d players verified of %d, want 20 of 420", result.Verify.Players, len(f.board.entries))
	}
}

// nothing returns a request whose response had no bytes.
func nothing() workload.Source {
	request := workload.Request{Client: "idle", Path: "/", Time: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), ID: "1"}
	return workload.Source{Name: "nothing", Total: 1, Timed: true, Requests: func() iter.Seq2[workload.Request, error] {
		return func(yield func(workload.Request, error) bool) { yield(request, nil) }
	}}
}

// TestScoresOfZero checks that a player whose scores are all 0 must have an entry.
func TestScoresOfZero(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for range 2 {
		wantClean(t, run(t, f, load.Options{Source: nothing(), Board: "b"}), 1)
	}
	f.onWrite = func(string) { clear(f.board.entries) }
	wantDifferences(t, run(t, f, load.Options{Source: nothing(), Board: "b"}), `player "idle": accepted, but missing`)
}

// TestRanksMayBeOffByTheirError checks that a rank within its stated error is accepted, and that the largest error is
// reported.
func TestRanksMayBeOffByTheirError(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.board.standing = func(s fakeStanding) fakeStanding {
		s.Rank, s.RankError = s.Rank+2, 2
		return s
	}
	result := run(t, f, load.Options{Source: logged(t, 40), Board: "b"})
	wantClean(t, result, 40)
	if result.Verify.RankError != 2 {
		t.Errorf("rank error %d, want 2", result.Verify.RankError)
	}
}

// TestStoredTopIsCompared checks that a wrong stored top is reported although the index is right.
func TestStoredTopIsCompared(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	source := generated(t, workload.Uniform, 600)
	result := run(t, f, load.Options{Source: source, Board: "b", Batch: 50})
	wantClean(t, result, 600)
	wrong := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/leaderboards" && r.URL.Query().Get("limit") == "100" {
			json.NewEncoder(w).Encode(map[string]any{"entries": f.board.ranking()[1:]})
			return
		}
		f.Config.Handler.ServeHTTP(w, r)
	}))
	defer wrong.Close()
	result, err := load.Run(t.Context(), load.Options{Target: wrong.URL, Source: source, Board: "b", Batch: 50, Verify: true, Settle: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	wantDifferences(t, result, "the top has 19 places, want 20", "place 1 of the top: rank 2, ")
}

// TestBoardThatCannotBeUsed checks the errors of a board in another mode, of decimal scores and of an invalid name.
func TestBoardThatCannotBeUsed(t *testing.T) {
	source := generated(t, workload.Uniform, 1)
	f := newFake(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			reject(w, http.StatusConflict, "the board's mode is settled")
			return
		}
		f.Config.Handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	_, err := load.Run(t.Context(), load.Options{Target: server.URL, Source: source, Board: "b"})
	wantError(t, err, `setting up board "b"`, "409 Conflict", "the board's mode is settled")
	decimal := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/leaderboards/rank" {
			w.Write([]byte(`{"player":"uniform/client-1","score":1.5,"rank":1}`))
			return
		}
		f.Config.Handler.ServeHTTP(w, r)
	}))
	defer decimal.Close()
	_, err = load.Run(t.Context(), load.Options{Target: decimal.URL, Source: source, Board: "b", Verify: true})
	wantError(t, err, "before the load", "has the score 1.5", "use another board")
	_, err = load.Run(t.Context(), load.Options{Target: f.URL, Source: source, Board: "a\nb"})
	wantError(t, err, `board "a\nb"`)
}

// sums returns the total score of each client.
func sums(source workload.Source) map[string]int64 {
	scores := map[string]int64{}
	for r := range source.Requests() {
		scores[r.Client] += r.Bytes
	}
	return scores
}
