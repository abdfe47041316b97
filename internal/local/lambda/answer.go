package lambda

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
)

// maxRequest is the largest payload that Lambda takes for a synchronous invocation,
// in bytes, from https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html.
const maxRequest = 6 << 20

// buffered reads the request's body, which nobody need wait for then.
func buffered(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return r, nil
}

// answer buffers an answer.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newAnswer() *answer { return &answer{header: http.Header{}} }

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

func (a *answer) send(w http.ResponseWriter) {
	a.WriteHeader(http.StatusOK) // of a handler that wrote nothing
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may be gone
}

// ErrorHeader tells by its value which refusals are Lambda's, and not the function's.
const ErrorHeader = "X-Amzn-Errortype"

// refusal is an answer without an invocation. It is problem JSON as all of
// hotshard's are, and has the members of the error that Lambda gives.
type refusal struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	Kind    string `json:"Type,omitempty"`
	Reason  string `json:"Reason,omitempty"`
	Message string `json:"message,omitempty"`

	name string // of the error
}

// Lambda answers Invoke with TooManyRequestsException and status 429, see
// https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html. An HTTP API of API
// Gateway makes that a 503, of which a caller can't tell why; hotshard's API says 429
// wherever capacity is exhausted, so that is said here.
var (
	overQuota = refusal{
		Title: "Too Many Requests", Status: http.StatusTooManyRequests, Detail: "no container is free: all functions together have used up their concurrency",
		Kind: "User", Reason: "ConcurrentInvocationLimitExceeded", Message: "Rate Exceeded.", name: TooManyRequests,
	}
	overPool = refusal{
		Title: "Too Many Requests", Status: http.StatusTooManyRequests, Detail: "no container is free: the function has used up its own",
		Kind: "User", Reason: "ReservedFunctionConcurrentInvocationLimitExceeded", Message: "Rate Exceeded.", name: TooManyRequests,
	}
	failed   = refusal{Title: "Internal Server Error", Status: http.StatusInternalServerError, Detail: "the function failed", name: "ServiceException"}
	tooLarge = refusal{Title: "Request Entity Too Large", Status: http.StatusRequestEntityTooLarge, Detail: "the request has more than 6 MB, or was cut off", name: "RequestTooLargeException"}
)

// TooManyRequests is what ErrorHeader says where there was no container for a request.
const TooManyRequests = "TooManyRequestsException"

func refuse(w http.ResponseWriter, why refusal) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set(ErrorHeader, why.name)
	if why.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(why.Status)
	_ = json.NewEncoder(w).Encode(why) // the client may be gone
}
