package ingest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/httpapi/docs"
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
		{"POST", "/v1/counters", `{"increments":[{"counter":"c","delta":1e400}]}`, 400, "body.increments[0].delta", "range", `"1e400"`},
		{"POST", "/v1/counters", `{"increments":[{"counter":"` + long + `","delta":1}]}`, 422, "body.increments[0].counter", "600 bytes", `"` + long[:100] + `…"`},
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

// TestSumsOutOfRangeAreNamed checks that a score whose sum is out of range is rejected with its location. The call is a 422
// if no score is accepted.
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

// TestTheDocumentSaysWhatIsTrue checks the bodies, lists, headers and errors of each call in the OpenAPI document.
func TestTheDocumentSaysWhatIsTrue(t *testing.T) {
	r := newRig(t)
	r.handler = docs.With(r.handler, Routes(nil))
	got := r.send(http.MethodGet, "/openapi.json", "")
	var document struct {
		Paths map[string]map[string]struct {
			OperationID          string `json:"operationId"`
			Summary, Description string
			Parameters           []struct{ Name, In string }
			RequestBody          *struct {
				Content map[string]json.RawMessage
			} `json:"requestBody"`
			Responses map[string]struct {
				Headers map[string]json.RawMessage
			}
		}
	}
	got.decode(t, &document)
	if strings.Contains(string(got.body), "octet-stream") || strings.Contains(string(got.body), `"array","null"`) {
		t.Error("the document has a body of bytes, or a list that may be null")
	}
	identifier, sentence := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), regexp.MustCompile(`^[A-Z].*[a-z?]$`)
	writes := 0
	for path, methods := range document.Paths {
		for method, op := range methods {
			if !identifier.MatchString(op.OperationID) || !sentence.MatchString(op.Summary) || !strings.HasSuffix(op.Description, ".") {
				t.Errorf("%s %s has the id %q, the summary %q and the description %q", method, path, op.OperationID, op.Summary, op.Description)
			}
			for _, status := range []string{"405", "422", "429", "503"} {
				if _, ok := op.Responses[status]; !ok {
					t.Errorf("%s %s lacks a %s", method, path, status)
				}
			}
			for _, status := range []string{"429", "503"} {
				if op.Responses[status].Headers["Retry-After"] == nil {
					t.Errorf("%s %s: %s lacks Retry-After", method, path, status)
				}
			}
			if op.RequestBody != nil {
				if _, ok := op.Responses["415"]; !ok || len(op.RequestBody.Content) != 1 {
					t.Errorf("%s %s: no 415, or %d kinds of body", method, path, len(op.RequestBody.Content))
				}
			}
			if method == "get" {
				continue
			}
			writes++
			keyed := false
			for _, p := range op.Parameters {
				keyed = keyed || p.In == "header" && p.Name == keyName
			}
			if !keyed {
				t.Errorf("%s %s takes no %s", method, path, keyName)
			}
		}
	}
	if writes != 8 {
		t.Errorf("the document has %d writes, want 8", writes)
	}
}
