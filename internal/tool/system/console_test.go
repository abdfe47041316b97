package system

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestConsole checks that the page is at / and that its API calls exist. The page gets the mode.
func TestConsole(t *testing.T) {
	s, stop := startWith(t, func(o *Options) { o.Version, o.Start = "1.2", "bin/hotshard local" })
	defer stop()
	text := body(t, s.URL()+"/", "text/html")
	for _, link := range regexp.MustCompile(`(?:href|src)="(/[^"]*)"`).FindAllStringSubmatch(text, -1) {
		body(t, s.URL()+link[1], "")
	}
	document := body(t, s.URL()+"/openapi.json", "json")
	calls := regexp.MustCompile(`<code>(GET|POST|PUT) (/v1/[a-z/-]+)`).FindAllStringSubmatch(text, -1)
	if len(calls) < 12 {
		t.Fatalf("the page names the calls %q, want 12 or more", calls)
	}
	for _, call := range calls {
		_, after, ok := strings.Cut(document, `"`+call[2]+`":{`)
		if path, _, _ := strings.Cut(after, `"/v1/`); !ok || !strings.Contains(path, `"`+strings.ToLower(call[1])+`":{`) {
			t.Errorf("the API has no %s %s", call[1], call[2])
		}
	}
	want := `{"mode":"local","where":"this machine","command":"hotshard shards set --target ` + s.URL() + `","version":"1.2","start":"bin/hotshard local"}`
	if about := body(t, s.URL()+"/console/about", "json"); strings.TrimSpace(about) != want {
		t.Errorf("about = %s, want %s", about, want)
	}
	response, err := http.Post(s.URL()+"/", "application/json", nil)
	if err != nil || response.StatusCode != http.StatusNotFound && response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST /: %v, %v; want 404 or 405", response, err)
	}
}

// body returns the body of a GET with this part in its Content-Type. It fails the test if the status is not 200.
func body(t *testing.T, url, kind string) string {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(response.Header.Get("Content-Type"), kind) {
		t.Fatalf("%s: %v, %v", url, response, err)
	}
	return string(text)
}
