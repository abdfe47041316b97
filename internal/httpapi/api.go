package httpapi

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/swaggest/swgui/v5emb"
)

// Routes registers operations with an API.
type Routes func(api huma.API)

// MaxBody bounds a request's body, in bytes. A keyed call's transaction is at
// most 4 MB, and Lambda takes 6 MB with the body in base64.
const MaxBody = 3 << 20

// New returns a handler for these routes and GET /healthz. Every answer that is
// not a success is problem JSON; what goes wrong inside is logged with the
// request's id and not told to the caller.
func New(log *slog.Logger, routes ...Routes) http.Handler {
	mux := http.NewServeMux()
	register(mux, routes)
	return withRequest(log, recovered(oneSegment(problems(mux))))
}

// WithDocs adds the OpenAPI document of all the routes at /openapi.json, and the
// same to read at /docs.
func WithDocs(handler http.Handler, routes ...Routes) http.Handler {
	document := document(register(http.NewServeMux(), routes))
	page := v5emb.New("hotshard", "/openapi.json", docsPath)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			handler.ServeHTTP(w, r)
		case r.URL.Path == "/openapi.json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(document) // the client may be gone
		case strings.HasPrefix(r.URL.Path+"/", docsPath):
			if files := (&found{ResponseWriter: w}); !files.serve(page, r) {
				handler.ServeHTTP(w, r)
			}
		default:
			handler.ServeHTTP(w, r)
		}
	})
}

const docsPath = "/docs/"

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

func register(mux *http.ServeMux, routes []Routes) huma.API {
	setFramework()
	api := onlyJSON{humago.New(mux, config())}
	api.UseMiddleware(onlyJSONBodies(api), onlyKnown(api))
	health(api)
	for _, r := range routes {
		r(api)
	}
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
