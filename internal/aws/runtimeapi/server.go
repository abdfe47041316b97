package runtimeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

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
	current *invocation // the invocation that has no response yet; nil if there is none
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
		_, _ = w.Write(in.payload) // the end of the process is detected elsewhere
	}
}

func (s *server) serveResponse(w http.ResponseWriter, r *http.Request) {
	in := s.finish(w, r)
	if in == nil {
		return
	}
	response, err := io.ReadAll(r.Body)
	if err != nil {
		in.outcome <- outcome{err: fmt.Errorf("reading the function's response: %w", err)}
		return
	}
	w.WriteHeader(http.StatusAccepted)
	in.outcome <- outcome{response: response}
}

func (s *server) serveError(w http.ResponseWriter, r *http.Request) {
	in := s.finish(w, r)
	if in == nil {
		return
	}
	w.WriteHeader(http.StatusAccepted)
	in.outcome <- outcome{err: readFunctionError(r)}
}

func (s *server) serveInitError(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	select {
	case s.initErr <- readFunctionError(r):
	default: // only the first is kept
	}
}

// finish returns the current invocation, and clears it. If the request is for another one, finish responds with 400 and
// returns nil.
func (s *server) finish(w http.ResponseWriter, r *http.Request) *invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.current
	if in == nil || in.id != r.PathValue("id") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(&FunctionError{"InvalidRequestID", "no such invocation in flight"}) // the process may have ended
		return nil
	}
	s.current = nil
	return in
}

func readFunctionError(r *http.Request) error {
	reported := new(FunctionError)
	if err := json.NewDecoder(r.Body).Decode(reported); err != nil {
		return fmt.Errorf("reading the function's error: %w", err)
	}
	return reported
}
