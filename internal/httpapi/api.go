package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/validation"
)

// API is where calls are registered: to be served, or to be described.
type API struct {
	mux       *http.ServeMux
	described huma.API // nil where they are served
}

// Routes registers calls.
type Routes func(api *API)

// MaxBody bounds a request's body, in bytes. A keyed call's transaction is at
// most 4 MB, and Lambda takes 6 MB with the body in base64.
const MaxBody = 3 << 20

// New returns a handler for these routes and GET /healthz. Every answer that is
// not a success is problem JSON; what goes wrong inside is logged with the
// request's id and not told to the caller.
func New(log *slog.Logger, routes ...Routes) http.Handler {
	setFramework()
	mux := http.NewServeMux()
	registerAll(&API{mux: mux}, routes)
	return withRequest(log, recovered(oneSegment(problems(mux))))
}

// Describe registers routes for the sake of their document alone.
func Describe(routes ...Routes) huma.API {
	described := newAPI(http.NewServeMux())
	registerAll(&API{described: described}, routes)
	return described
}

func registerAll(api *API, routes []Routes) {
	health(api)
	for _, r := range routes {
		r(api)
	}
}

// setFramework sets what the framework has no option of an API for, only variables of its
// package, which hold for the whole process: what makes its error answers, which would grow
// with the number of faults; whether its checks take ENTITY for entity, which its reader does
// not, and null for a list; and how it writes bounds, large ones of which would have an
// exponent. It is done once, since requests read these variables from then on.
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
	c.CreateHooks = nil // no $schema members in answers
	c.Transformers = nil
	return c
}

// Audience is who a call is for. A deployment may let different people make different
// calls; it knows them by the tag OperatorsTag in the OpenAPI document.
type Audience bool

// The audiences.
const (
	ForCallers   Audience = false // of the application: its data
	ForOperators Audience = true  // sets what holds for all callers, or tells of everybody's keys
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
		MaxBodyBytes: MaxBody, Errors: []int{400, 405, 422, 429, 500, 503},
	}
	if method == http.MethodPost || method == http.MethodPut {
		op.Errors = append(op.Errors, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	return op
}

// Register adds a call whose errors become answers by [Problem]. What serves it is made with
// its first request: a container starts sooner, and may never be asked for most calls. What
// can't be registered is a panic at its first request; TestTheDocument makes all of them ready.
func Register[I, O any](api *API, op huma.Operation, call func(context.Context, *I) (*O, error)) {
	add := func(to huma.API) {
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
	api.mux.HandleFunc(op.Method+" "+op.Path, func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}

// sole is a mux for one call.
type sole struct{ http.HandlerFunc }

// HandleFunc takes the call's handler.
func (s *sole) HandleFunc(_ string, handler func(http.ResponseWriter, *http.Request)) {
	s.HandlerFunc = handler
}

// recovered turns a panic into a 500, and logs where it happened.
func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if fault == http.ErrAbortHandler {
				panic(fault)
			}
			loggerOf(r.Context()).Error("panic", "fault", fault, "stack", string(debug.Stack()))
			writeProblem(w, internalError(r.Context()))
		}()
		next.ServeHTTP(w, r)
	})
}
