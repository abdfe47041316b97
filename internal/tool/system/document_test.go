package system

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestTheDocument compares the OpenAPI document of all calls with the golden one. Each call must have a handler.
func TestTheDocument(t *testing.T) {
	routes := []httpapi.Routes{ingest.Routes(nil), query.Routes(nil)}
	handler := httpapi.New(slog.New(slog.NewTextHandler(t.Output(), nil)), routes...)
	answer := httptest.NewRecorder()
	query.WithDocs(handler, routes...).
		ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json", nil))
	checkGolden(t, answer.Body.Bytes())
	var document struct{ Paths map[string]map[string]any }
	require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &document))
	operations := 0
	for path, item := range document.Paths {
		for method := range item {
			operations++
			checkReady(t, handler, strings.ToUpper(method), path)
		}
	}
	if operations != 20 {
		t.Errorf("the document has %d operations, want 20", operations)
	}
}

// checkReady checks that a call has a handler, with a request that the handler rejects.
func checkReady(t *testing.T, handler http.Handler, method, path string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, strings.NewReplacer("{", "", "}", "").Replace(path)+"?unknown=1", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	if answer.Code != http.StatusUnprocessableEntity || !strings.Contains(answer.Body.String(), "query.unknown") ||
		answer.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s: %d %v %s", method, path, answer.Code, answer.Header(), answer.Body)
	}
}

// checkGolden compares the document with testdata/openapi.json. To accept a change of the API, run
// go test ./internal/tool/system -run TestTheDocument -update.
func checkGolden(t *testing.T, document []byte) {
	t.Helper()
	golden := filepath.Join("testdata", "openapi.json")
	var got bytes.Buffer
	require.NoError(t, json.Indent(&got, document, "", " "))
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the document differs (-golden +now):\n%s", cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")))
	}
}
