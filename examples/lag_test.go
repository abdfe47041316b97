//go:build long

package examples_test

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestExamplesOnLaggingEngine runs programs on an engine with lag: queries of an index return nothing for a while, and other
// eventually consistent queries never return anything. The output must be the same.
func TestExamplesOnLaggingEngine(t *testing.T) {
	dir := built(t)
	for _, name := range []string{"boards", "sessions"} {
		t.Run(name, func(t *testing.T) {
			var late atomic.Int64
			endpoint := before(t, func(operation, body string) (status int, response string) {
				ofIndex := strings.Contains(body, `"IndexName"`)
				if operation != "Query" || strings.Contains(body, `"ConsistentRead":true`) || ofIndex && late.Add(1) > 5 {
					return 0, ""
				}
				return http.StatusOK, `{"Count":0,"Items":[],"ScannedCount":0}`
			})
			if got, want := run(t, filepath.Join(dir, name), environment(endpoint, rand.Text())), promised(t, name); got != want {
				t.Errorf("the program prints\n%sbut its comment says\n%s", got, want)
			}
			if late.Load() <= 5 {
				t.Errorf("the program reads the index %d times, want more than 5", late.Load())
			}
		})
	}
}

// before returns the endpoint of a proxy before the engine. The proxy forwards a call unless instead returns a status.
func before(t *testing.T, instead func(operation, body string) (status int, response string)) string {
	t.Helper()
	return enginetest.Proxy(t, enginetest.Endpoint(t), func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		if status, response := instead(operation, string(body)); status != 0 {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, response)
			return
		}
		forward.ServeHTTP(w, r)
	})
}
