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

	"github.com/hotshard/hotshard/internal/base/dynamo"
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

// New returns a handler for the routes and for GET /healthz. Every error response is problem JSON. It logs internal
// errors with the request's id, and does not show them to the caller. All requests share a quota of retries.
func New(log *slog.Logger, routes ...Routes) http.Handler {
	setFramework()
	api := &API{calls: map[string]map[string]http.Handler{}}
	registerAll(api, routes)
	quota := dynamo.NewQuota()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, id := route(r.URL.Path)
		r = withRequestID(w, r.WithContext(quota.Context(r.Context())), log, path)
		r.SetPathValue("id", id)
		defer recoverPanic(w, r)
		api.serve(w, r, path)
	})
}

// serve calls the handler of a path and the request's method. It rejects malformed queries, unknown paths and methods.
func (a *API) serve(w http.ResponseWriter, r *http.Request, path string) {
	methods := a.calls[path]
	handler := methods[r.Method]
	switch fault := queryFault(r.URL.RawQuery); {
	case fault != nil:
		writeProblem(w, fault)
	case handler != nil:
		handler.ServeHTTP(w, r)
	case methods == nil:
		writeProblem(w, newProblem(http.StatusNotFound, "there is no "+cutEcho(path)))
	default:
		allow := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		w.Header().Set("Allow", allow)
		writeProblem(w, newProblem(http.StatusMethodNotAllowed, cutEcho(path)+" takes "+allow))
	}
}

// Describe returns an API of the framework with the routes and GET /healthz, only to document them.
func Describe(routes ...Routes) huma.API {
	described := newAPI(new(oneCall))
	registerAll(&API{described: described}, routes)
	return described
}

func registerAll(api *API, routes []Routes) {
	registerHealth(api)
	for _, r := range routes {
		r(api)
	}
}

// setFramework sets package variables of the framework, since it has no such options: error responses are bounded,
// validation is case-sensitive, null is not a list, and large bounds are shown without an exponent. Requests read the
// variables, so they are set once.
var setFramework = sync.OnceFunc(func() {
	huma.NewError, huma.NewErrorWithContext = newProblem, newProblemFor
	huma.ValidateStrictCasing, huma.DefaultArrayNullable = true, false
	validation.MsgExpectedMinimumNumber, validation.MsgExpectedMaximumNumber = "it must be at least %.0f", "it must be at most %.0f"
})

func newAPI(mux humago.Mux) huma.API {
	setFramework()
	api := jsonAPI{humago.New(mux, config())}
	api.UseMiddleware(requireJSONBody(api), rejectUnknownParameters(api))
	return api
}

func config() huma.Config {
	c := huma.DefaultConfig("hotshard", "1")
	c.Info.Description = "Writes and reads that stay ahead of DynamoDB's hot keys. Bodies are JSON, times are RFC 3339, and errors are RFC 9457 problems that name each field."
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	c.CreateHooks = nil // no $schema members in responses
	c.Transformers = nil
	return c
}

// longNames has the schema names of types whose own names are unclear without their package.
var longNames = map[string]string{"Row": "HeatRow"}

// schemaName returns the name of a type's schema.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	return cmp.Or(longNames[name], name)
}

// Audience is who a call is for. A deployment may allow operators' calls to fewer people. The OpenAPI document marks
// these calls with the tag OperatorsTag.
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

// Register adds a call; a GET also serves HEAD. [Problem] converts its errors. The first request creates its handler,
// so that containers start fast. A call that can't be registered panics there; TestTheDocument creates all handlers.
func Register[I, O any](api *API, op huma.Operation, call func(context.Context, *I) (*O, error)) {
	if api.described != nil {
		addTo(api.described, op, call)
		return
	}
	handler := sync.OnceValue(func() http.Handler {
		mux := new(oneCall)
		addTo(newAPI(mux), op, call)
		return mux
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

func addTo[I, O any](to huma.API, op huma.Operation, call func(context.Context, *I) (*O, error)) {
	op.Metadata = map[string]any{schemas: to.OpenAPI().Components.Schemas}
	huma.Register(to, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := call(ctx, in)
		if err != nil {
			return nil, Problem(ctx, err, Detail(err))
		}
		return out, nil
	})
}

// oneCall is a mux for one call.
type oneCall struct{ http.HandlerFunc }

// HandleFunc sets the call's handler.
func (c *oneCall) HandleFunc(_ string, handler func(http.ResponseWriter, *http.Request)) {
	c.HandlerFunc = handler
}

// recoverPanic responds to a panic of the deferring function with a 500, and logs its stack, except ErrAbortHandler.
func recoverPanic(w http.ResponseWriter, r *http.Request) {
	switch fault := recover(); fault {
	case nil:
	case http.ErrAbortHandler:
		panic(fault)
	default:
		loggerOf(r.Context()).Error("panic", "fault", fault, "stack", string(debug.Stack()))
		writeProblem(w, internalError(r.Context()))
	}
}

type healthOutput struct {
	Body struct {
		Status string `json:"status" enum:"ok" doc:"It answers"`
	}
}

func registerHealth(api *API) {
	Register(api, Operation(ForCallers, http.MethodGet, "/healthz", "health", "Is the function up?", "Answers without a look at DynamoDB."),
		func(context.Context, *struct{}) (*healthOutput, error) {
			out := &healthOutput{}
			out.Body.Status = "ok"
			return out, nil
		})
}
