package console

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"
	"time"
)

// bundle is the page as it is written, and what web/build.mjs makes for it.
//
//go:embed web/src/index.html dist
var bundle embed.FS

// About is what the page must know of where it runs.
type About struct {
	Mode    string `json:"mode" enum:"local,deployment,table"` // "local", "deployment" or "table"; a table has only GET /v1/heat and /v1/hot-keys
	Table   string `json:"table,omitempty"`                    // whose heat is shown, where it isn't hotshard's own
	Where   string `json:"where"`                              // "this machine", or a Region
	Command string `json:"command"`                            // how shards set is called for it: "bin/hotshard shards set --target http://127.0.0.1:8080"; "" where there are no write shards
	Version string `json:"version"`
	Start   string `json:"start"` // the command line that started this server

	// Pipeline returns the lag of the stream's readers; nil if unknown.
	Pipeline func(context.Context) []Reader `json:"-"`
	// Signals reports throttled writes and splits in a span; nil if nothing is known of them.
	Signals func(context.Context, Span) Signals `json:"-"`
}

// Reader is one reader of the stream.
type Reader struct {
	Name    string   `json:"name"`
	Lag     *float64 `json:"lag_seconds,omitempty"` // how far behind the stream it is; nil while it has not caught up once
	GivenUp int64    `json:"given_up"`              // records, since it started
}

// policy allows the page's own files only: injected markup could run no script and send no request.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the console: its page at /, and the rest of it below /console/. All else is
// the API's.
func Handler(api http.Handler, about About) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.HandleFunc("GET /{$}", file("web/src/index.html"))
	mux.HandleFunc("GET /console/console.js", file("dist/console.js"))
	mux.HandleFunc("GET /console/console.css", file("dist/console.css"))
	mux.HandleFunc("GET /console/LICENSES.txt", file("dist/LICENSES.txt"))
	mux.HandleFunc("GET /console/about", func(w http.ResponseWriter, _ *http.Request) { answer(w, about) })
	mux.HandleFunc("GET /console/pipeline", func(w http.ResponseWriter, r *http.Request) {
		var readers []Reader
		if about.Pipeline != nil {
			readers = about.Pipeline(r.Context())
		}
		answer(w, map[string][]Reader{"readers": readers})
	})
	mux.HandleFunc("GET /console/signals", serveSignals(about.Signals))
	return own(mux, api)
}

// own passes requests of the console to its routes, and all others to the API unchanged: the mux would
// clean their paths.
func own(console, api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read := r.Method == http.MethodGet || r.Method == http.MethodHead
		if read && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/console/")) {
			console.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// file serves one of the bundle's.
func file(name string) http.HandlerFunc {
	text := must(fs.ReadFile(bundle, name))
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache") // the next start may be of another version
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	}
}

// answer writes JSON.
func answer(w http.ResponseWriter, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(what) // fails if the client has left
}

// must is for what the bundle has for certain: it is part of the binary, and tests read it.
func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}
