// Package docs serves the OpenAPI document of routes, and a page to read it. The page's
// files are half a megabyte, and a program that has them reads them all when it starts: so
// only those that serve the page import this.
//
//	handler := docs.With(httpapi.New(log, routes), routes)
package docs

import (
	"net/http"
	"strings"
	"sync"

	"github.com/swaggest/swgui/v5emb"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// With adds the OpenAPI document of all the routes at /openapi.json, and the same to read
// at /docs. Both are made when the first caller asks for them. A document that can't be made is a
// panic that httpapi.New does not recover from; TestTheDocument makes it.
func With(handler http.Handler, routes ...httpapi.Routes) http.Handler {
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
			if files := (&found{ResponseWriter: w}); !files.serve(page(), r) {
				handler.ServeHTTP(w, r)
			}
		default:
			handler.ServeHTTP(w, r)
		}
	})
}

const pagePath = "/docs/"

// found passes an answer on, unless it is that there is nothing.
type found struct {
	http.ResponseWriter
	missing bool
}

// serve returns false if there was nothing, and then nothing was written.
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
