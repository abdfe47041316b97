package system

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

// TestFrontPage: all that it names is there.
func TestFrontPage(t *testing.T) {
	routes := []httpapi.Routes{ingest.Routes(nil), query.Routes(nil)}
	server := httptest.NewServer(withFrontPage(httpapi.WithDocs(httpapi.New(slog.New(slog.DiscardHandler), routes...), routes...), "http://here:1"))
	defer server.Close()
	text := body(t, server.URL+"/", "text/html")
	if !strings.Contains(text, "curl http://here:1/v1/counters") || strings.Contains(text, "8080") {
		t.Errorf("it names another address:\n%s", text)
	}
	for _, link := range regexp.MustCompile(`href="(/[^v"]*)"`).FindAllStringSubmatch(text, -1) {
		body(t, server.URL+link[1], "")
	}
	document := body(t, server.URL+"/openapi.json", "json")
	calls := regexp.MustCompile(`<code>(GET|POST|PUT) (/v1/[a-z/-]+)`).FindAllStringSubmatch(text, -1)
	if len(calls) < 12 {
		t.Fatalf("it has only %q", calls)
	}
	for _, call := range calls {
		_, after, ok := strings.Cut(document, `"`+call[2]+`":{`)
		if path, _, _ := strings.Cut(after, `"/v1/`); !ok || !strings.Contains(path, `"`+strings.ToLower(call[1])+`":{`) {
			t.Errorf("the API has no %s %s", call[1], call[2])
		}
	}
	response, err := http.Post(server.URL+"/", "application/json", nil)
	if err != nil || response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /: %v, %v", response, err)
	}
}

func body(t *testing.T, url, kind string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(response.Header.Get("Content-Type"), kind) {
		t.Fatalf("%s: %v, %v", url, response, err)
	}
	return string(text)
}
