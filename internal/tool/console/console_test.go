package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestHandler checks that the console serves / and /console/, and passes other requests to the API unchanged.
func TestHandler(t *testing.T) {
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.URL.EscapedPath())
	})
	about := About{Mode: "table", Table: "orders", Where: "eu-central-1", Version: "1", Start: "bin/hotshard console"}
	handler := Handler(api, about)
	for _, c := range []struct {
		method, path, kind string
		status             int
		has                string
	}{
		{"GET", "/", "text/html", 200, "<template id=\"overview\">"},
		{"HEAD", "/", "text/html", 200, ""},
		{"POST", "/", "", 418, "/"},
		{"GET", "/console/console.js", "text/javascript", 200, "use strict"},
		{"GET", "/console/console.css", "text/css", 200, ":root"},
		{"GET", "/console/LICENSES.txt", "text/plain", 200, "echarts"},
		{"GET", "/console/about", "application/json", 200, `{"mode":"table","table":"orders","where":"eu-central-1","command":"","version":"1","start":"bin/hotshard console"}`},
		{"GET", "/v1/events/a%2F..%2Fb", "", 418, "/v1/events/a%2F..%2Fb"},
		{"GET", "//v1//heat", "", 418, "//v1//heat"},
	} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		if w.Code != c.status || !strings.HasPrefix(w.Header().Get("Content-Type"), c.kind) || !strings.Contains(w.Body.String(), c.has) {
			t.Errorf("%s %s: %d %s\n%.300s\nwant %d %s with %s", c.method, c.path, w.Code, w.Header().Get("Content-Type"), w.Body, c.status, c.kind, c.has)
		}
		if policy := w.Header().Get("Content-Security-Policy"); c.kind == "text/html" && (!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe")) {
			t.Errorf("%s: the Content-Security-Policy is %q", c.path, policy)
		}
	}
}

// maxBundle is the maximum size of the console's files in bytes, compressed with gzip.
const maxBundle = 300 << 10

// TestBundleIsSmall bounds the size of the console's files.
func TestBundleIsSmall(t *testing.T) {
	var size counted
	for _, name := range []string{"web/src/index.html", "dist/console.js", "dist/console.css"} {
		text, err := bundle.ReadFile(name)
		require.NoError(t, err)
		packed, err := gzip.NewWriterLevel(&size, gzip.BestCompression)
		require.NoError(t, err)
		_, err = packed.Write(text)
		require.NoError(t, err)
		require.NoError(t, packed.Close())
	}
	if size > maxBundle || size < 10<<10 {
		t.Errorf("the console has %d bytes compressed, want %d to %d", size, 10<<10, maxBundle)
	}
}

type counted int

func (c *counted) Write(p []byte) (int, error) {
	*c += counted(len(p))
	return len(p), nil
}
