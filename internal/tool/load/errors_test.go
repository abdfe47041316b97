package load_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hotshard/hotshard/internal/tool/load"
)

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("error = %v, want %q", err, text)
		}
	}
}

// TestRejectionEndsTheLoad checks that a response which a retry would not change ends the load with its reason.
func TestRejectionEndsTheLoad(t *testing.T) {
	for _, path := range []string{"/v1/events", "/v1/counters"} {
		var calls atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/healthz":
				w.Write([]byte(`{"status":"ok"}`))
			case r.URL.Path == path:
				calls.Add(1)
				reject(w, http.StatusUnprocessableEntity, "a rule is broken")
			default:
				w.Write([]byte(`{"results":[{"status":"accepted"}]}`))
			}
		}))
		_, err := load.Run(t.Context(), load.Options{Target: server.URL, Source: generated(t, load.Uniform, 100), Concurrency: 1})
		server.Close()
		wantError(t, err, "POST", path, "422 Unprocessable Entity: a rule is broken; body.x: is bad")
		if n := calls.Load(); n != 1 {
			t.Errorf("%s was called %d times, want 1", path, n)
		}
	}
}

func TestWrongNumberOfResultsEndsTheLoad(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte(`{"results":[]}`))
	}))
	defer server.Close()
	_, err := load.Run(t.Context(), load.Options{Target: server.URL, Source: generated(t, load.Uniform, 1)})
	wantError(t, err, "0 results for 1 item")
}

// TestNoTarget checks the errors of a server that is no hotshard, and of no server.
func TestNoTarget(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	options := load.Options{Target: server.URL, Source: generated(t, load.Uniform, 1)}
	_, err := load.Run(t.Context(), options)
	wantError(t, err, "no hotshard API answers at "+server.URL, "404")
	options.Target = "http://127.0.0.1:1" // no other process can listen there
	_, err = load.Run(t.Context(), options)
	wantError(t, err, "no hotshard API answers at "+options.Target, "connection refused")
}

// TestUnsignedLoad checks that a failed signature is not reported as a missing API.
func TestUnsignedLoad(t *testing.T) {
	sign := func(context.Context, *http.Request, []byte) error { return errors.New("expired") }
	_, err := load.Run(t.Context(), load.Options{Target: "http://127.0.0.1:1", Source: generated(t, load.Uniform, 1), Sign: sign})
	if wantError(t, err, "expired"); strings.Contains(err.Error(), "no hotshard API") {
		t.Errorf("error = %v, want only the signature's", err)
	}
}

// TestAllInvalidOptionsAreNamed checks that one error names all invalid options.
func TestAllInvalidOptionsAreNamed(t *testing.T) {
	_, err := load.Run(t.Context(), load.Options{
		Target: "localhost:80", Concurrency: 2000, Rate: -1, Retries: -1, Settle: -1,
	})
	wantError(t, err, "target ", "concurrency 2000", "rate -1", "retries -1", "settle ")
	_, err = load.Run(t.Context(), load.Options{Target: "http://localhost"})
	wantError(t, err, "source")
}
