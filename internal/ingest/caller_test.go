package ingest

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// TestKeysAreTheCallersOwn checks that each caller, and the absence of a caller, has its own idempotency keys.
func TestKeysAreTheCallersOwn(t *testing.T) {
	r := newRig(t)
	handler := r.handler
	as := func(caller string) {
		r.handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			handler.ServeHTTP(w, request.WithContext(httpapi.WithCaller(request.Context(), caller)))
		})
	}
	const one, two = `{"increments":[{"counter":"a","delta":1}]}`, `{"increments":[{"counter":"a","delta":10}]}`
	for i, c := range []struct {
		caller, body string
		status       int
		sum          string
	}{
		{"", one, 200, "1"},
		{"iam\narn:aws:sts::1:assumed-role/ann", one, 200, "2"},
		{"iam\narn:aws:sts::1:assumed-role/bob", two, 200, "12"},
		{"iam\narn:aws:sts::1:assumed-role/ann", one, 200, "12"},
		{"iam\narn:aws:sts::1:assumed-role/ann", two, 409, "12"},
		{"", two, 409, "12"},
	} {
		as(c.caller)
		got := r.post("/v1/counters", c.body, "Idempotency-Key", "1")
		if sum := r.sum("a"); got.status != c.status || sum != c.sum {
			t.Errorf("call %d by %q: %d %s, sum %s; want %d and %s", i, c.caller, got.status, got.body, sum, c.status, c.sum)
		}
	}
}

// TestNamelessTokensHaveNoKeys checks that a keyed call is rejected, and writes nothing, if the token does not name its
// caller.
func TestNamelessTokensHaveNoKeys(t *testing.T) {
	r := newRig(t)
	handler := r.handler
	r.handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		handler.ServeHTTP(w, request.WithContext(httpapi.WithCaller(request.Context(), httpapi.Nameless)))
	})
	const body = `{"increments":[{"counter":"a","delta":1}]}`
	if got := r.post("/v1/counters", body, "Idempotency-Key", "1"); got.status != 422 || !strings.Contains(string(got.body), "no sub, client_id or azp claim") {
		t.Errorf("with a key: %d %s", got.status, got.body)
	}
	if got := r.post("/v1/counters", body); got.status != 200 || r.sum("a") != "1" {
		t.Errorf("without a key: %d %s, sum %s", got.status, got.body, r.sum("a"))
	}
}
