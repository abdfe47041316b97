package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/validation"
)

// API registers calls, to serve them or to document them.
type API struct {
	calls     map[string]map[string]http.Handler // by path and method
	described huma.API                           // nil if the calls are served
}

// Routes registers calls.
type Routes func(api *API)

// MaxBody bounds a request's body, in bytes. A keyed call's transaction is at most 4 MB, and Lambda allows 6 MB with
// the body in base64.
const MaxBody = 3 << 20

// New returns a handler for the routes and GET /healthz. Every error response is problem JSON. Internal errors are
// logged with the request's id, and not shown to the caller.
func New(log *slog.Logger, routes ...Routes) http.Handler {
	setFramework()
	api := &API{calls: map[string]map[string]http.Handler{}}
	registerAll(api, routes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, id := route(r.URL.Path)
		r = identified(w, r, log, path)
		r.SetPathValue("id", id)
		defer recovered(w, r)
		api.serve(w, r, path)
	})
}

// serve calls the handler of a path. It responds to malformed queries, unknown paths and wrong methods.
func (a *API) serve(w http.ResponseWriter, r *http.Request, path string) {
	methods := a.calls[path]
	if fault := queryFault(r.URL.RawQuery); fault != nil {
		writeProblem(w, fault)
	} else if handler := methods[r.Method]; handler != nil {
		handler.ServeHTTP(w, r)
	} else if methods == nil {
		writeProblem(w, newProblem(http.StatusNotFound, "there is no "+cut(path)))
	} else {
		allow := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		w.Header().Set("Allow", allow)
		writeProblem(w, newProblem(http.StatusMethodNotAllowed, cut(path)+" takes "+allow))
	}
}

// Describe registers routes only to document them.
func Describe(routes ...Routes) huma.API {
	described := newAPI(new(sole))
	registerAll(&API{described: described}, routes)
	return described
}

func registerAll(api *API, routes []Routes) {
	health(api)
	for _, r := range routes {
		r(api)
	}
}

// setFramework sets package variables of the framework that have no option. They make its error responses, which would
// otherwise grow with the number of faults. They make its validation case-sensitive like its decoder, and forbid null
// for a list. They also format large bounds without an exponent. Requests read these variables, so they are set once.
var setFramework = sync.OnceFunc(func() {
	huma.NewError, huma.NewErrorWithContext = newProblem, newProblemFor
	huma.ValidateStrictCasing, huma.DefaultArrayNullable = true, false
	validation.MsgExpectedMinimumNumber, validation.MsgExpectedMaximumNumber = "it must be at least %.0f", "it must be at most %.0f"
})

func newAPI(mux humago.Mux) huma.API {
	setFramework()
	api := onlyJSON{humago.New(mux, config())}
	api.UseMiddleware(onlyJSONBodies(api), onlyKnown(api))
	return api
}

func config() huma.Config {
	c := huma.DefaultConfig("hotshard", "1")
	c.Info.Description = "Writes and reads that stay ahead of DynamoDB's hot keys. Bodies are JSON, times are RFC 3339, and errors are RFC 9457 problems that name each field."
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	c.CreateHooks = nil // no $schema members in answers
	c.Transformers = nil
	return c
}

// longer has schemas' names for types whose own says nothing without its package.
var longer = map[string]string{"Row": "HeatRow", "Report": "ThrottleReport", "Finding": "ThrottleFinding", "Source": "ThrottleEvidence"}

// schemaName names a schema after its type.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	return cmp.Or(longer[name], name)
}

// Audience is who a call is for. A deployment may let different people make different
// calls; it knows them by the tag OperatorsTag in the OpenAPI document.
type Audience bool

// The audiences.
const (
	ForCallers   Audience = false // users of the application: its data
	ForOperators Audience = true  // changes settings for all callers, or reads all callers' keys
)

// OperatorsTag marks the calls that are for operators in the OpenAPI document.
const OperatorsTag = "operators"

// Operation describes a call of the API.
func Operation(who Audience, method, path, id, summary, description string) huma.Operation {
	tag := "writes"
	switch {
	case who == ForOperators:
		tag = OperatorsTag
	case method == http.MethodGet:
		tag = "reads"
	}
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, Description: description, Tags: []string{tag},
		MaxBodyBytes: MaxBody, SkipValidateBody: true, Errors: []int{400, 405, 422, 429, 500, 503},
	}
	if method == http.MethodPost || method == http.MethodPut {
		op.Errors = append(op.Errors, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	return op
}

// Register adds a call whose errors become responses by [Problem]. Its handler is made at its first request, so that a
// container starts sooner. A call that can't be registered panics at its first request; TestTheDocument makes all
// handlers.
func Register[I, O any](api *API, op huma.Operation, call func(context.Context, *I) (*O, error)) {
	add := func(to huma.API) {
		op.Metadata = map[string]any{schemas: to.OpenAPI().Components.Schemas}
		huma.Register(to, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := call(ctx, in)
			if err != nil {
				return nil, Problem(ctx, err)
			}
			return out, nil
		})
	}
	if api.described != nil {
		add(api.described)
		return
	}
	handler := sync.OnceValue(func() http.Handler {
		only := new(sole)
		add(newAPI(only))
		return only
	})
	methods := api.calls[op.Path]
	if methods == nil {
		methods = map[string]http.Handler{}
		api.calls[op.Path] = methods
	}
	methods[op.Method] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
	if op.Method == http.MethodGet {
		methods[http.MethodHead] = methods[http.MethodGet]
	}
}

// sole is a mux for one call.
type sole struct{ http.HandlerFunc }

// HandleFunc sets the call's handler.
func (s *sole) HandleFunc(_ string, handler func(http.ResponseWriter, *http.Request)) {
	s.HandlerFunc = handler
}

// recovered turns a panic of the deferring function into a 500, and logs its stack.
func recovered(w http.ResponseWriter, r *http.Request) {
	switch fault := recover(); fault {
	case nil:
	case http.ErrAbortHandler:
		panic(fault)
	default:
		loggerOf(r.Context()).Error("panic", "fault", fault, "stack", string(debug.Stack()))
		writeProblem(w, internalError(r.Context()))
	}
}
