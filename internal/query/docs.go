package query

import (
	"net/http"
	"strings"
	"sync"

	"github.com/swaggest/swgui/v5emb"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// WithDocs adds the OpenAPI document of the routes at /openapi.json, and its page at /docs. It creates both at their first
// request. If that fails, the handler panics; TestTheDocument creates the document.
func WithDocs(handler http.Handler, routes ...httpapi.Routes) http.Handler {
	text := sync.OnceValue(func() []byte { return document(httpapi.Describe(routes...)) })
	page := sync.OnceValue(func() http.Handler { return v5emb.New("hotshard", "/openapi.json", pagePath) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			handler.ServeHTTP(w, r)
		case r.URL.Path == "/openapi.json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text()) // the client may be gone
		case strings.HasPrefix(r.URL.Path+"/", pagePath):
			w.Header().Set("Content-Security-Policy", policy)
			w.Header().Set("X-Content-Type-Options", "nosniff")
			if files := (&unless404{ResponseWriter: w}); !files.serve(page(), r) {
				handler.ServeHTTP(w, r)
			}
		default:
			handler.ServeHTTP(w, r)
		}
	})
}

const (
	pagePath = "/docs/"

	// policy allows the page's files, its inline scripts and styles, and calls of the API.
	policy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// unless404 writes a response unless it is a 404.
type unless404 struct {
	http.ResponseWriter
	notFound bool
}

// serve writes the response of from, and reports whether it did: a 404 is not written.
func (u *unless404) serve(from http.Handler, r *http.Request) bool {
	from.ServeHTTP(u, r)
	return !u.notFound
}

func (u *unless404) WriteHeader(status int) {
	if status == http.StatusNotFound {
		u.notFound = true
		return
	}
	u.ResponseWriter.WriteHeader(status)
}

func (u *unless404) Write(text []byte) (int, error) {
	if u.notFound {
		return len(text), nil
	}
	return u.ResponseWriter.Write(text)
}
