package runtimeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxResponse is the largest response of a synchronous invocation, in bytes: 6 MB and a margin
// that Lambda adds, from
// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html.
const maxResponse = 6<<20 + 100

// FunctionError is a function's error response, or Lambda's if the function's process fails.
type FunctionError struct {
	Type    string `json:"errorType"` // such as errorString, or Runtime.ExitError
	Message string `json:"errorMessage"`
}

// Error returns the type and the message.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// invocation is a payload and its outcome.
type invocation struct {
	id       string
	payload  []byte
	deadline time.Time
	outcome  chan outcome // has a buffer of one
}

type outcome struct {
	response []byte
	err      error
}

// server is the Runtime API for one process.
type server struct {
	arn     string
	next    chan *invocation
	polled  chan struct{} // closed at the first request for a payload
	initErr chan error    // has a buffer of one

	once    sync.Once
	mu      sync.Mutex
	current *invocation // passed to the process, without a response so far
}

func newServer(arn string) *server {
	return &server{arn: arn, next: make(chan *invocation), polled: make(chan struct{}), initErr: make(chan error, 1)}
}

func (s *server) handler() http.Handler {
	const base = "/2018-06-01/runtime/"
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"invocation/next", s.serveNext)
	mux.HandleFunc("POST "+base+"invocation/{id}/response", s.serveResponse)
	mux.HandleFunc("POST "+base+"invocation/{id}/error", s.serveError)
	mux.HandleFunc("POST "+base+"init/error", s.serveInitError)
	return mux
}

// serveNext blocks until there is a payload.
func (s *server) serveNext(w http.ResponseWriter, r *http.Request) {
	s.once.Do(func() { close(s.polled) })
	select {
	case <-r.Context().Done():
	case in := <-s.next:
		s.mu.Lock()
		s.current = in
		s.mu.Unlock()
		h := w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Lambda-Runtime-Aws-Request-Id", in.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(in.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", s.arn)
		h.Set("Lambda-Runtime-Trace-Id", traceID(in.id))
		_, _ = w.Write(in.payload) // the end of the process is detected elsewhere
	}
}

// traceID returns an X-Ray trace id, not sampled, derived from a request id.
func traceID(id string) string {
	return fmt.Sprintf("Root=1-%s-%s%s;Parent=%s;Sampled=0", id[:8], id[9:13], id[15:23], id[20:36])
}

func (s *server) serveResponse(w http.ResponseWriter, r *http.Request) {
	in := s.finish(r.PathValue("id"))
	if in == nil {
		reject(w, http.StatusBadRequest, "InvalidRequestID", "no such invocation in flight")
		return
	}
	response, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxResponse))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		fault := &FunctionError{"Function.ResponseSizeTooLarge", fmt.Sprintf("the response has more than %d bytes", maxResponse)}
		reject(w, http.StatusRequestEntityTooLarge, fault.Type, fault.Message)
		in.outcome <- outcome{err: fault}
		return
	}
	if err != nil {
		in.outcome <- outcome{err: fmt.Errorf("reading the function's response: %w", err)}
		return
	}
	w.WriteHeader(http.StatusAccepted)
	in.outcome <- outcome{response: response}
}

func (s *server) serveError(w http.ResponseWriter, r *http.Request) {
	in := s.finish(r.PathValue("id"))
	if in == nil {
		reject(w, http.StatusBadRequest, "InvalidRequestID", "no such invocation in flight")
		return
	}
	w.WriteHeader(http.StatusAccepted)
	in.outcome <- outcome{err: readFault(r)}
}

func (s *server) serveInitError(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	select {
	case s.initErr <- readFault(r):
	default: // only the first is kept
	}
}

// finish returns the current invocation if it has this id, and clears it.
func (s *server) finish(id string) *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.current
	if in == nil || in.id != id {
		return nil
	}
	s.current = nil
	return in
}

func readFault(r *http.Request) error {
	fault := new(FunctionError)
	if err := json.NewDecoder(io.LimitReader(r.Body, maxResponse)).Decode(fault); err != nil {
		return fmt.Errorf("reading the function's error: %w", err)
	}
	return fault
}

// reject responds with an error in the Runtime API's form.
func reject(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(&FunctionError{kind, message}) // the process may have ended
}
