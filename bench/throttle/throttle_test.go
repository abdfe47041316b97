package throttle

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// TestSide checks the pace of calls, that only counted ones are in the quantiles, and that a rejected call fails.
func TestSide(t *testing.T) {
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		standIn(w, r)
	}))
	defer server.Close()
	s := newSide(server.URL)
	for _, counted := range []bool{false, true} {
		if err := s.pace(t.Context(), 100, 200*time.Millisecond, counted); err != nil {
			t.Fatal(err)
		}
	}
	if q := s.quantiles(); requests.Load() != 40 || len(s.took) != 20 || q[0] <= 0 || q[1] < q[0] {
		t.Errorf("%d requests, %d counted, quantiles %v; want 40 and 20", requests.Load(), len(s.took), q)
	}
	if err := s.saturate(t.Context(), 20*time.Millisecond); err != nil || s.full.calls < 1 {
		t.Errorf("saturate made %v calls, %v; want one or more", s.full.calls, err)
	}
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadRequest) })
	if err := s.call(t.Context()); err == nil {
		t.Error("a call that the server rejects succeeds")
	}
}
