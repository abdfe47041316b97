package ingest

import (
	"net/http"
	"testing"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// TestKeysAreTheCallersOwn: the same key of another caller is another key, and that of
// nobody one more. The same caller's finds its first answer.
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
			t.Errorf("call %d by %q: %d %s, sum %s", i, c.caller, got.status, got.body, sum)
		}
	}
}
