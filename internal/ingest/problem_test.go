package ingest

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestProblemsShowTheValue checks that each error has its location and its value.
func TestProblemsShowTheValue(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("x", 600)
	for _, c := range []struct{ method, path, body, location, message, value string }{
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":null}]}`, "body.increments[0].delta", "expected integer", `null`},
		{"POST", "/v1/counters", `{"increments":[{"counter":["c"],"delta":1}]}`, "body.increments[0].counter", "expected string", `["c"]`},
		{"POST", "/v1/counters", `{"increments":{"a":1}}`, "body.increments", "expected array", `{"a":1}`},
		{"POST", "/v1/counters", `{"increments":null}`, "body.increments", "expected array", `null`},
		{"POST", "/v1/counters", `{"increments":[],"more":[7]}`, "body.more", "unexpected property", `[7]`},
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":9223372036854775808}]}`, "body.increments[0].delta", "whole number of at most 64 bits", `9223372036854775808`},
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":1e400}]}`, "body.increments[0].delta", "range", `"1e400"`},
		{"POST", "/v1/counters", `{"increments":[{"counter":"` + long + `","delta":1}]}`, "body.increments[0].counter", "600 bytes", `"` + long[:100] + `…"`},
		{"POST", "/v1/limits", `{"key":"k","limit":1e10,"window":"1h"}`, "body.limit", "at most 1000000000", `10000000000`},
		{"POST", "/v1/limits", `{"key":"k","limit":1,"window":"0s"}`, "body.window", "it must be 1s to 720h", `"0s"`},
		{"DELETE", "/v1/sessions?group=g&id=i&force=1", ``, "query.force", "no such parameter", `["1"]`},
		{"POST", "/v1/counters?dry", `{"increments":[{"counter":"c","delta":1}]}`, "query.dry", "no such parameter", `[""]`},
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
		if !found || got.status < 400 || got.status > 422 {
			t.Errorf("%s %s %.200s: %d %.600s", c.method, c.path, c.body, got.status, got.body)
		}
	}
	if n := r.items(); n != 0 {
		t.Errorf("%d items were written", n)
	}
}

// TestWholeNumbersOfAnyForm checks that whole numbers are accepted in any JSON form.
func TestWholeNumbersOfAnyForm(t *testing.T) {
	r := newRig(t)
	got := r.post("/v1/counters", `{"increments":[{"counter":"c","delta":1.0},{"counter":"c","delta":1e2},{"counter":"c","delta":2.50E+1},{"counter":"c","delta":-60e-1}]}`)
	if got.status != http.StatusOK || r.sum("c") != "120" {
		t.Errorf("%d %s, the sum is %s", got.status, got.body, r.sum("c"))
	}
}

// TestSumsOutOfRangeAreNamed checks that an item out of range is rejected with its location, or is a 422 if no item is
// accepted.
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
		if got.status != http.StatusUnprocessableEntity {
			t.Errorf("%v: %d %s", key, got.status, got.body)
		}
		checkProblem(t, got, "body.scores")
	}
}

// TestUnknownPaths checks that unknown paths are a 404 in problem JSON, even paths that a mux would redirect.
func TestUnknownPaths(t *testing.T) {
	r := newRig(t)
	for path, status := range map[string]int{"//healthz": 404, "/v1//counters": 404, "/v1/../healthz": 404, "/v1/counters/": 404, "/": 404, "/v1/events/x": 404} {
		got := r.post(path, `{}`)
		if got.status != status || got.header.Get("Content-Type") != "application/problem+json" || got.header.Get("Location") != "" {
			t.Errorf("%s: %d %v %s", path, got.status, got.header, got.body)
		}
		checkProblem(t, got, "")
		if strings.Contains(string(got.body), "=") {
			t.Errorf("%s: %s", path, got.body)
		}
	}
}
