package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// places reads the top of a board's all-time period from the index.
func (r *rig) places(board string) string {
	r.t.Helper()
	reader := boards.NewReader(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}))
	list, err := reader.Top(r.t.Context(), board, "all", 10, r.service.now())
	require.NoError(r.t, err)
	var texts []string
	for _, p := range list {
		texts = append(texts, p.Player+" "+p.Score.String())
	}
	return strings.Join(texts, ", ")
}

func scoresBody(board string, pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf(`{"player":%q,"score":%s}`, pairs[i], pairs[i+1]))
	}
	return fmt.Sprintf(`{"board":%q,"scores":[%s]}`, board, strings.Join(list, ","))
}

// TestScores checks that each score of a call is counted, and the board has each player's best.
func TestScores(t *testing.T) {
	r := newRig(t)
	got := r.post("/v1/scores", scoresBody("a/b#c", "ann", "12.50", "bob#1", "-3", "ann", "7", "eve", "1e3"))
	var answer scoresAnswer
	if err := json.Unmarshal(got.body, &answer); got.status != http.StatusOK || err != nil || answer.Accepted != 4 || len(answer.Results) != 4 || answer.Results[1] != (scoreResult{"bob#1", Accepted, ""}) {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if first := r.places("a/b#c"); first != "eve 1000, ann 12.5, bob#1 -3" {
		t.Errorf("got %s", first)
	}
}

// TestBoardsAreSetUp checks the defaults of a board, its settings, and that its mode can't change.
func TestBoardsAreSetUp(t *testing.T) {
	r := newRig(t)
	got := r.send(http.MethodPut, "/v1/leaderboards", `{"board":"g"}`)
	if want := `{"board":"g","mode":"best","size":100,"periods":["all"]}`; got.status != http.StatusOK || strings.TrimSpace(string(got.body)) != want {
		t.Fatalf("%d %s, want %s", got.status, got.body, want)
	}
	put := `{"board":"g","mode":"sum","size":10,"periods":["week","all"]}`
	got = r.send(http.MethodPut, "/v1/leaderboards", put)
	if want := `{"board":"g","mode":"sum","size":10,"periods":["all","week"]}`; got.status != http.StatusOK || strings.TrimSpace(string(got.body)) != want {
		t.Fatalf("%d %s, want %s", got.status, got.body, want)
	}
	for range 2 {
		if got := r.post("/v1/scores", scoresBody("g", "ann", "0.1", "ann", "0.2")); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	if first := r.places("g"); first != "ann 0.6" {
		t.Errorf("got %s", first)
	}
	if got := r.send(http.MethodPut, "/v1/leaderboards", `{"board":"g","mode":"best"}`); got.status != http.StatusConflict {
		t.Errorf("another mode: %d %s, want a 409", got.status, got.body)
	}
	if got := r.send(http.MethodPut, "/v1/leaderboards", `{"board":"g","mode":"sum","size":1000}`); got.status != http.StatusOK {
		t.Errorf("another size: %d %s", got.status, got.body)
	}
}

// TestKeyedScoresCountOnce checks that keyed scores count once, and the maximum size of such a call.
func TestKeyedScoresCountOnce(t *testing.T) {
	r := newRig(t)
	r.send(http.MethodPut, "/v1/leaderboards", `{"board":"g","mode":"sum","periods":["all","day","week"]}`)
	body := scoresBody("g", "ann", "5", "bob", "6")
	first := r.post("/v1/scores", body, "Idempotency-Key", "k1")
	again := r.post("/v1/scores", body, "Idempotency-Key", "k1")
	if first.status != http.StatusOK || again.status != http.StatusOK || string(first.body) != string(again.body) {
		t.Fatalf("%d %s, again %d %s", first.status, first.body, again.status, again.body)
	}
	if got := r.places("g"); got != "bob 6, ann 5" {
		t.Errorf("got %s", got)
	}
	if got := r.post("/v1/scores", scoresBody("g", "ann", "1"), "Idempotency-Key", "k1"); got.status != http.StatusConflict {
		t.Errorf("another body: %d %s", got.status, got.body)
	}
	var many []string
	for i := range 34 {
		many = append(many, fmt.Sprint("p", i), "1")
	}
	got := r.post("/v1/scores", scoresBody("g", many...), "Idempotency-Key", "k2")
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), "at most 99 entries") {
		t.Errorf("102 entries: %d %s, want a 422", got.status, got.body)
	}
	one := slices.Repeat([]string{"ann", "1"}, 100)
	if got := r.post("/v1/scores", scoresBody("g", one...), "Idempotency-Key", "k2"); got.status != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), "at most 99 items") {
		t.Errorf("100 scores of one player: %d %s, want a 422", got.status, got.body)
	}
	if got := r.post("/v1/scores", scoresBody("g", many[:66]...), "Idempotency-Key", "k3"); got.status != http.StatusOK {
		t.Errorf("99 entries: %d %s, want a 200", got.status, got.body)
	}
}

func TestInvalidScoresWriteNothing(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct{ path, method, body, location string }{
		"no scores":      {"/v1/scores", "POST", `{"board":"g","scores":[]}`, "body.scores"},
		"null scores":    {"/v1/scores", "POST", `{"board":"g","scores":null}`, "body.scores"},
		"no player":      {"/v1/scores", "POST", `{"board":"g","scores":[{"player":"ann","score":1},{"score":1}]}`, "body.scores[1]"},
		"text":           {"/v1/scores", "POST", scoresBody("g", "ann", "1", "bob", `"2"`), "body.scores[1].score"},
		"39 digits":      {"/v1/scores", "POST", scoresBody("g", "ann", "1", "bob", "1."+strings.Repeat("1", 38)), "body.scores[1].score"},
		"too large":      {"/v1/scores", "POST", scoresBody("g", "ann", "1", "bob", "1e18"), "body.scores[1].score"},
		"a mode":         {"/v1/leaderboards", "PUT", `{"board":"g","mode":"worst"}`, "body.mode"},
		"a size":         {"/v1/leaderboards", "PUT", `{"board":"g","size":1001}`, "body.size"},
		"no size":        {"/v1/leaderboards", "PUT", `{"board":"g","size":0}`, "body.size"},
		"a period":       {"/v1/leaderboards", "PUT", `{"board":"g","periods":["year"]}`, "body.periods[0]"},
		"no periods":     {"/v1/leaderboards", "PUT", `{"board":"g","periods":[]}`, "body.periods"},
		"no board":       {"/v1/leaderboards", "PUT", `{"mode":"best"}`, "body"},
		"unknown member": {"/v1/leaderboards", "PUT", `{"board":"g","color":"red"}`, "body.color"},
	} {
		wantProblem(t, name, r.send(c.method, c.path, c.body), 422, c.location)
	}
	r.wantNothingWritten()
}

// TestAppliedCallGetsItsAnswerAgain checks that a retry of an applied call gets its answer, even if the call could not
// be applied any more.
func TestAppliedCallGetsItsAnswerAgain(t *testing.T) {
	r := newRig(t)
	r.send(http.MethodPut, "/v1/leaderboards", `{"board":"g","mode":"sum"}`)
	var many []string
	for i := range maxKeyed {
		many = append(many, fmt.Sprint("p", i), "1")
	}
	bodies := []string{scoresBody("g", "ann", "6e17"), scoresBody("g", many...)}
	for i, body := range bodies {
		if got := r.post("/v1/scores", body, "Idempotency-Key", fmt.Sprint("k", i)); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	r.send(http.MethodPut, "/v1/leaderboards", `{"board":"g","mode":"sum","periods":["all","day"]}`)
	for i, body := range bodies {
		key := fmt.Sprint("k", i)
		if got := r.post("/v1/scores", body, "Idempotency-Key", key); got.status != http.StatusOK {
			t.Errorf("again: %d %s", got.status, got.body)
		}
		if got := r.post("/v1/scores", scoresBody("g", "ann", "7e17"), "Idempotency-Key", key); got.status != http.StatusConflict {
			t.Errorf("another body: %d %s", got.status, got.body)
		}
	}
}
