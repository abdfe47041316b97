package infra

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

// route is a route of the API, with its callers.
type route struct {
	method, path, function string
	who                    httpapi.Audience
}

// documents are the routes that the OpenAPI document lacks: the document itself, and the page that shows it.
var documents = []route{
	{http.MethodGet, "/openapi.json", Query, httpapi.ForCallers},
	{http.MethodGet, "/docs", Query, httpapi.ForCallers},
	{http.MethodGet, "/docs/{file+}", Query, httpapi.ForCallers},
}

// routes returns one route for each call in the OpenAPI documents of query and ingest. Both have the health check,
// which query serves.
func routes() []route {
	list := slices.Concat(documents, functionRoutes(Query, query.Routes(nil)))
	for _, r := range functionRoutes(Ingest, ingest.Routes(nil)) {
		if !slices.ContainsFunc(list, func(other route) bool { return other.method == r.method && other.path == r.path }) {
			list = append(list, r)
		}
	}
	return list
}

// functionRoutes returns the routes of a function, by path and method.
func functionRoutes(function string, served httpapi.Routes) (list []route) {
	calls := callsOf(served)
	for _, path := range slices.Sorted(maps.Keys(calls)) {
		for _, method := range slices.Sorted(maps.Keys(calls[path])) {
			who := httpapi.Audience(slices.Contains(calls[path][method].Tags, httpapi.OperatorsTag))
			list = append(list, route{strings.ToUpper(method), greedy(path), function, who})
		}
	}
	return list
}

// callsOf returns the calls of the OpenAPI document, by path and method.
func callsOf(routes httpapi.Routes) map[string]map[string]struct{ Tags []string } {
	answer := httptest.NewRecorder()
	handler := query.WithDocs(httpapi.New(slog.New(slog.DiscardHandler), routes), routes)
	handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]struct{ Tags []string }
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		panic(err) // it depends only on the code
	}
	return document.Paths
}

// greedy returns a path whose last parameter, such as {id}, also matches slashes, which an event's id may have: {id+}.
func greedy(path string) string {
	if rest, ok := strings.CutSuffix(path, "}"); ok {
		return rest + "+}"
	}
	return path
}
