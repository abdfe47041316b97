package stack

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/infra/grants"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/httpapi/docs"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

// route is one of the API's, for those who may be meant to call it.
type route struct {
	method, path, function string
	who                    httpapi.Audience
}

// documents are the routes outside of the OpenAPI document: itself, and the page that
// shows it with what that loads.
var documents = []route{
	{http.MethodGet, "/openapi.json", grants.Query, httpapi.ForCallers},
	{http.MethodGet, "/docs", grants.Query, httpapi.ForCallers},
	{http.MethodGet, "/docs/{file+}", grants.Query, httpapi.ForCallers},
}

// routes returns one route for each call of the functions, as their own OpenAPI
// documents have them. What both have, the health check, query answers.
func routes() []route {
	list := slices.Clone(documents)
	for _, of := range []struct {
		function string
		routes   httpapi.Routes
	}{{grants.Query, query.Routes(nil)}, {grants.Ingest, ingest.Routes(nil)}} {
		calls := callsOf(of.routes)
		for _, path := range slices.Sorted(maps.Keys(calls)) {
			for _, method := range slices.Sorted(maps.Keys(calls[path])) {
				who := httpapi.Audience(slices.Contains(calls[path][method].Tags, httpapi.OperatorsTag))
				r := route{strings.ToUpper(method), greedy(path), of.function, who}
				if !slices.ContainsFunc(list, func(other route) bool { return other.method == r.method && other.path == r.path }) {
					list = append(list, r)
				}
			}
		}
	}
	return list
}

// callsOf reads the OpenAPI document: by path and method.
func callsOf(routes httpapi.Routes) map[string]map[string]struct{ Tags []string } {
	answer := httptest.NewRecorder()
	handler := docs.With(httpapi.New(slog.New(slog.DiscardHandler), routes), routes)
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]struct{ Tags []string }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		panic(err) // it depends on the code alone
	}
	return document.Paths
}

// greedy has a parameter at a path's end take all of the rest, slashes too, as an
// event's id may have them.
func greedy(path string) string {
	if rest, ok := strings.CutSuffix(path, "}"); ok {
		return rest + "+}"
	}
	return path
}
