// Package docs serves the OpenAPI document of routes, and a page that shows it. The page's files are 500 KB that a
// program loads when it starts, so only programs that serve the page import it.
//
//	handler := docs.With(httpapi.New(log, routes), routes)
package docs

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/swaggest/swgui/v5emb"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// With adds the OpenAPI document of the routes at /openapi.json, and its page at /docs. Both are made at their first
// request. If the document can't be made, With's handler panics; TestTheDocument makes it.
func With(handler http.Handler, routes ...httpapi.Routes) http.Handler {
	text := sync.OnceValue(func() []byte { return document(httpapi.Describe(routes...)) })
	page := sync.OnceValue(func() http.Handler { return v5emb.New("hotshard", "/openapi.json", pagePath) })
	policy := sync.OnceValue(func() string { return policyOf(page()) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			handler.ServeHTTP(w, r)
		case r.URL.Path == "/openapi.json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text()) // the client may be gone
		case strings.HasPrefix(r.URL.Path+"/", pagePath):
			w.Header().Set("Content-Security-Policy", policy())
			w.Header().Set("X-Content-Type-Options", "nosniff")
			if files := (&found{ResponseWriter: w}); !files.serve(page(), r) {
				handler.ServeHTTP(w, r)
			}
		default:
			handler.ServeHTTP(w, r)
		}
	})
}

const pagePath = "/docs/"

var pageURL = &url.URL{Path: pagePath}

// found forwards a response unless it is a 404.
type found struct {
	http.ResponseWriter
	missing bool
}

// serve reports whether there was a response. If not, nothing was written.
func (f *found) serve(from http.Handler, r *http.Request) bool {
	from.ServeHTTP(f, r)
	return !f.missing
}

func (f *found) WriteHeader(status int) {
	if f.missing = status == http.StatusNotFound; !f.missing {
		f.ResponseWriter.WriteHeader(status)
	}
}

func (f *found) Write(text []byte) (int, error) {
	if f.missing {
		return len(text), nil
	}
	return f.ResponseWriter.Write(text)
}
