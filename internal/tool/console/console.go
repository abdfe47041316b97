package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// bundle has the page's HTML and, in dist, the files that web/build.mjs writes.
//
//go:embed web/src/index.html dist
var bundle embed.FS

// About describes the server to the page.
type About struct {
	Mode    string `json:"mode" enum:"local,deployment,table"` // "local", "deployment" or "table"; a table has only GET /v1/heat and /v1/hot-keys
	Table   string `json:"table,omitempty"`                    // the table whose heat is shown; empty for hotshard's own
	Where   string `json:"where"`                              // "this machine", or a Region
	Command string `json:"command"`                            // how command lines that set a shard count begin: "bin/hotshard shards set --target http://127.0.0.1:8080"; empty if no key has write shards
	Version string `json:"version"`
	Start   string `json:"start"`          // the command line that started this server
	Demo    string `json:"demo,omitempty"` // what a demo shows; empty without one

	// File describes the file if the page is a file, which has the answers inside. It is nil for a server's page.
	File *FileInfo `json:"file,omitempty"`

	// Signals returns the throttled writes in a span; nil if nothing counts them.
	Signals func(Span) SignalsAnswer `json:"-"`
}

// policy allows only the page's own files, so that injected markup can't run scripts or send requests.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the console's page at /, and its other files below /console/. It passes all other requests to the API.
func Handler(api http.Handler, about About) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.HandleFunc("GET /{$}", serveFile("web/src/index.html"))
	mux.HandleFunc("GET /console/console.js", serveFile("dist/console.js"))
	mux.HandleFunc("GET /console/console.css", serveFile("dist/console.css"))
	mux.HandleFunc("GET /console/LICENSES.txt", serveFile("dist/LICENSES.txt"))
	mux.HandleFunc("GET /console/about", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, about) })
	mux.HandleFunc("GET /console/signals", serveSignals(about.Signals))
	return route(mux, api)
}

// route passes the console's requests to console, and all others to the API. A ServeMux for both would clean the API's paths.
func route(console, api http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
		isConsolePath := r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/console/")
		if isRead && isConsolePath {
			console.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

func serveFile(name string) http.HandlerFunc {
	text := asset(name)
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cache-Control", "no-cache") // the next start may have another version
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
	}
}

func writeJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(body) // fails if the client has disconnected
}

func asset(name string) []byte {
	text, err := bundle.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return text
}
