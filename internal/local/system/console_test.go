package system

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/console"
)

// TestConsole: the page is at /, all that it names of the API is there, and it is told where it
// is and how far the stream's readers are.
func TestConsole(t *testing.T) {
	s, stop := startWith(t, func(o *Options) { o.Version = "1.2" })
	defer stop()
	text := body(t, s.URL()+"/", "text/html")
	for _, link := range regexp.MustCompile(`(?:href|src)="(/[^"]*)"`).FindAllStringSubmatch(text, -1) {
		body(t, s.URL()+link[1], "")
	}
	document := body(t, s.URL()+"/openapi.json", "json")
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
	want := `{"mode":"local","where":"this machine","command":"bin/hotshard shards set --target ` + s.URL() + `","version":"1.2"}`
	if about := body(t, s.URL()+"/console/about", "json"); strings.TrimSpace(about) != want {
		t.Errorf("it is told %s", about)
	}
	eventually(t, func() bool {
		var pipeline struct{ Readers []console.Reader }
		if err := json.Unmarshal([]byte(body(t, s.URL()+"/console/pipeline", "json")), &pipeline); err != nil {
			t.Fatal(err)
		}
		r := pipeline.Readers
		return len(r) == 2 && r[0].Name == aggregatorName && r[1].Name == detectorName && r[0].Lag != nil && r[1].Lag != nil && *r[0].Lag < 30
	})
	response, err := http.Post(s.URL()+"/", "application/json", nil)
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
