package query_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
)

// TestUnknownPathsBesideThePage checks that the document and the page are served, the page with its Content-Security-
// Policy. Unknown paths are a 404 in problem JSON.
func TestUnknownPathsBesideThePage(t *testing.T) {
	handler := query.WithDocs(httpapi.New(slog.New(slog.DiscardHandler)))
	for path, want := range map[string]int{"*": 404, "/docs/none.js": 404, "/healthz/": 404, "/nothing": 404, "/docs": 200, "/docs/": 200, "/docs/swagger-ui.css": 200, "/openapi.json": 200} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.URL.Path = path
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != want || answer.Body.Len() == 0 {
			t.Errorf("%s: %d with %d bytes, want %d", path, answer.Code, answer.Body.Len(), want)
		}
		if policy := answer.Header().Get("Content-Security-Policy"); path == "/docs/" && !strings.HasPrefix(policy, "default-src 'none'; ") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if want == 404 && (answer.Header().Get("Content-Type") != "application/problem+json" || answer.Header().Get("X-Request-Id") == "") {
			t.Errorf("%s: %v %s, want problem JSON", path, answer.Header(), answer.Body)
		}
	}
}
