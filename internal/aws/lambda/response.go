package lambda

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
)

// maxRequest is Lambda's largest payload of a synchronous invocation, in bytes, from
// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html.
const maxRequest = 6 << 20

// buffered reads the request's body, so that a container need not wait for it.
func buffered(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return r, nil
}

// response buffers a response.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func newResponse() *response { return &response{header: http.Header{}} }

func (a *response) Header() http.Header { return a.header }

func (a *response) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *response) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

func (a *response) send(w http.ResponseWriter) {
	a.WriteHeader(http.StatusOK) // of a handler that wrote nothing
	maps.Copy(w.Header(), a.header)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body.Bytes()) // the client may be gone
}

// ErrorHeader is the response header that names an error of Lambda's, as opposed to the
// function's.
const ErrorHeader = "X-Amzn-Errortype"

// rejection is a response without an invocation: problem JSON, as of all of hotshard's errors,
// with the members of Lambda's error.
type rejection struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	Kind    string `json:"Type,omitempty"`
	Reason  string `json:"Reason,omitempty"`
	Message string `json:"message,omitempty"`

	name string // the error's, in ErrorHeader
}

// Lambda rejects an invocation with TooManyRequestsException and status 429, see
// https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html. API Gateway turns that into a
// 503, which does not say why. hotshard's API uses 429 wherever capacity is exhausted.
var (
	overQuota = rejection{
		Title: "Too Many Requests", Status: http.StatusTooManyRequests, Detail: "no container is free: all functions together have used up their concurrency",
		Kind: "User", Reason: "ConcurrentInvocationLimitExceeded", Message: "Rate Exceeded.", name: TooManyRequests,
	}
	overPool = rejection{
		Title: "Too Many Requests", Status: http.StatusTooManyRequests, Detail: "no container is free: the function has used up its own",
		Kind: "User", Reason: "ReservedFunctionConcurrentInvocationLimitExceeded", Message: "Rate Exceeded.", name: TooManyRequests,
	}
	overBodies = rejection{
		Title: "Too Many Requests", Status: http.StatusTooManyRequests, Detail: "the bodies of the calls in flight are too large together: send fewer at once",
		Kind: "User", Reason: "ConcurrentInvocationLimitExceeded", Message: "Rate Exceeded.", name: TooManyRequests,
	}
	failed   = rejection{Title: "Internal Server Error", Status: http.StatusInternalServerError, Detail: "the function failed", name: "ServiceException"}
	tooLarge = rejection{Title: "Request Entity Too Large", Status: http.StatusRequestEntityTooLarge, Detail: "the request has more than 6 MB, or was cut off", name: "RequestTooLargeException"}
)

// TooManyRequests is the value of ErrorHeader if no container was available.
const TooManyRequests = "TooManyRequestsException"

func reject(w http.ResponseWriter, why rejection) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set(ErrorHeader, why.name)
	if why.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", "1")
	}
	w.WriteHeader(why.Status)
	_ = json.NewEncoder(w).Encode(why) // the client may be gone
}
