package query_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
)

// TestUnknownPathsBesideThePage checks that the document and the page are served, the page with its Content-Security-
// Policy, to GET and HEAD. Unknown paths are a 404 in problem JSON.
func TestUnknownPathsBesideThePage(t *testing.T) {
	handler := query.WithDocs(httpapi.New(slog.New(slog.DiscardHandler)))
	for call, want := range map[string]int{
		"GET *": 404, "GET /docs/none.js": 404, "GET /healthz/": 404, "GET /nothing": 404, "GET /docs": 200, "GET /docs/": 200, "GET /docs/swagger-ui.css": 200, "GET /openapi.json": 200,
		"HEAD /openapi.json": 200, "POST /openapi.json": 404, "POST /docs/": 404,
	} {
		method, path, _ := strings.Cut(call, " ")
		request := httptest.NewRequestWithContext(t.Context(), method, "/", nil)
		request.URL.Path = path
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != want || answer.Body.Len() == 0 {
			t.Errorf("%s: %d with %d bytes, want %d", call, answer.Code, answer.Body.Len(), want)
		}
		if policy := answer.Header().Get("Content-Security-Policy"); call == "GET /docs/" && (!strings.HasPrefix(policy, "default-src 'none'; ") || !strings.HasSuffix(policy, "; frame-ancestors 'none'") || answer.Header().Get("X-Content-Type-Options") != "nosniff") {
			t.Errorf("%s: the policy is %q of %v", call, policy, answer.Header())
		}
		if want == 404 && (answer.Header().Get("Content-Type") != "application/problem+json" || answer.Header().Get("X-Request-Id") == "") {
			t.Errorf("%s: %v %s, want problem JSON", call, answer.Header(), answer.Body)
		}
	}
}
