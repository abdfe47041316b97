package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestProblemsShowTheValue checks that an error has the location and the value of what is invalid, and nothing is written.
func TestProblemsShowTheValue(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("x", 600)
	for _, c := range []struct {
		method, path, body       string
		status                   int
		location, message, value string
	}{
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":null}]}`, 422, "body.increments[0].delta", "expected integer", `null`},
		{"POST", "/v1/counters", `{"increments":[{"counter":["c"],"delta":1}]}`, 422, "body.increments[0].counter", "expected string", `["c"]`},
		{"POST", "/v1/counters", `{"increments":{"a":1}}`, 422, "body.increments", "expected array", `{"a":1}`},
		{"POST", "/v1/counters", `{"increments":null}`, 422, "body.increments", "expected array", `null`},
		{"POST", "/v1/counters", `{"increments":[],"more":[7]}`, 422, "body.more", "unexpected property", `[7]`},
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":9223372036854775808}]}`, 422, "body.increments[0].delta", "whole number of at most 64 bits", `9223372036854775808`},
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":1e400}]}`, 422, "body.increments[0].delta", "range", `"1e400"`},
		{"POST", "/v1/counters", `{"increments":[{"counter":"` + long + `","delta":1}]}`, 422, "body.increments[0].counter", "600 bytes", `"` + long[:100] + `…"`},
		{"POST", "/v1/scores", `{"board":"b","scores":[{"player":"p","score":999999999999999999.9999999996}]}`, 422, "body.scores[0].score", "it must be a number between", `999999999999999999.9999999996`},
		{"POST", "/v1/limits", `{"key":"k","limit":1e10,"window":"1h"}`, 422, "body.limit", "at most 1000000000", `10000000000`},
		{"POST", "/v1/limits", `{"key":"k","limit":1,"window":"0s"}`, 422, "body.window", "it must be 1s to 720h", `"0s"`},
		{"DELETE", "/v1/sessions?group=g&id=i&force=1", ``, 422, "query.force", "no such parameter", `["1"]`},
		{"POST", "/v1/counters?dry", `{"increments":[{"counter":"c","delta":1}]}`, 422, "query.dry", "no such parameter", `[""]`},
	} {
		got := r.send(c.method, c.path, c.body)
		var problem struct {
			Errors []struct {
				Location, Message string
				Value             json.RawMessage
			}
		}
		got.decode(t, &problem)
		found := false
		for _, e := range problem.Errors {
			found = found || e.Location == c.location && strings.Contains(e.Message, c.message) && string(e.Value) == c.value
		}
		if !found || got.status != c.status {
			t.Errorf("%s %s %.200s: %d %.600s, want %d %s: %s, %s", c.method, c.path, c.body, got.status, got.body, c.status, c.location, c.message, c.value)
		}
	}
	r.wantNothingWritten()
}

// TestWholeNumbersOfAnyForm checks that a delta may be a whole number in any JSON form.
func TestWholeNumbersOfAnyForm(t *testing.T) {
	r := newRig(t)
	got := r.post("/v1/counters", `{"increments":[{"counter":"c","delta":1.0},{"counter":"c","delta":1e2},{"counter":"c","delta":2.50E+1},{"counter":"c","delta":-60e-1}]}`)
	if got.status != http.StatusOK || r.sum("c") != "120" {
		t.Errorf("%d %s, the sum is %s, want 120", got.status, got.body, r.sum("c"))
	}
}

// TestSumsOutOfRangeAreNamed checks that a score whose sum is out of range is rejected with its location. The call is a
// 422 if no score is accepted.
func TestSumsOutOfRangeAreNamed(t *testing.T) {
	r := newRig(t)
	r.send(http.MethodPut, "/v1/leaderboards", `{"board":"g","mode":"sum"}`)
	r.post("/v1/scores", scoresBody("g", "ann", "999999999999999999"))
	var out scoresAnswer
	got := r.post("/v1/scores", scoresBody("g", "bob", "1", "ann", "1"))
	if got.decode(t, &out); got.status != http.StatusOK || out.Rejected != 1 || !strings.Contains(out.Results[1].Detail, "body.scores[1].score") {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, key := range [][]string{nil, {"Idempotency-Key", "k"}} {
		got = r.post("/v1/scores", scoresBody("g", "ann", "1"), key...)
		wantProblem(t, fmt.Sprint(key), got, 422, "body.scores")
	}
}
