// Package lambda runs the functions of the HTTP API as Lambda does, on one machine. Each function has containers
// (Lambda calls them execution environments), each with one request at a time. Cold starts take time, and the functions
// share one quota of concurrency. The functions of the stream have their own and never wait.
//
// A container is a handler in this process, or a process of the function's binary, which is frozen between requests, as
// in Lambda. A handler can't be frozen: it must not depend on goroutines after its response.
//
// It follows https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html and
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html. Undocumented behaviour is guessed, such
// as which idle container gets a request. The rate of new containers (1,000 in ten seconds for each function) and the
// end of idle ones are left out.
package lambda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/tool/system"
)

// Model configures a Fleet.
type Model struct {
	Concurrency int           // concurrent requests of all HTTP functions
	ColdStart   time.Duration // minimum duration of a container's start
	Ingest      string        // binary whose processes are ingest's containers; "" runs handlers in this process
}

// Fleet has the containers of the HTTP functions.
type Fleet struct {
	model Model

	mu    sync.Mutex
	idle  map[string][]container // by function; the most recently busy one is last
	busy  int
	stats map[string]Stats // by function
}

// Stats are a function's figures.
type Stats struct {
	ColdStarts int // including failed ones
	Requests   int // including rejected ones
	Rejected   int // because the quota was used up
}

// container serves one request at a time.
type container interface {
	// serve responds to a request. After an error the container is discarded.
	serve(w http.ResponseWriter, r *http.Request) error
	stop() error
}

// start makes a container: the init phase of a cold start.
type start func(ctx context.Context) (container, error)

// inThisProcess is a container in this process.
type inThisProcess struct{ http.Handler }

func handlers(handler func(context.Context) (http.Handler, error)) start {
	return func(ctx context.Context) (container, error) {
		h, err := handler(ctx)
		return inThisProcess{h}, err
	}
}

func (c inThisProcess) serve(w http.ResponseWriter, r *http.Request) error {
	c.ServeHTTP(w, r)
	return nil
}

func (inThisProcess) stop() error { return nil }

// NewFleet returns a fleet without containers. It must be stopped.
func NewFleet(m Model) *Fleet {
	return &Fleet{model: m, idle: map[string][]container{}, stats: map[string]Stats{}}
}

// Serve returns the API's handler. It sends reads to query, and all other methods to ingest, which reject unknown calls.
func (f *Fleet) Serve(_ context.Context, d system.Deployment) (http.Handler, error) {
	ingest, query := handlers(d.Ingest), handlers(d.Query)
	if f.model.Ingest != "" {
		ingest = processes(f.model.Ingest, d)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			f.serve("query", query, w, r)
		} else {
			f.serve("ingest", ingest, w, r)
		}
	}), nil
}

// serve responds with a container of a function, or rejects the request.
func (f *Fleet) serve(function string, start start, w http.ResponseWriter, r *http.Request) {
	c, ok := f.acquire(function)
	if !ok {
		w.Header().Set(ErrorHeader, TooManyRequests)
		reject(w, http.StatusTooManyRequests)
		return
	}
	err := error(nil)
	if c == nil {
		c, err = f.coldStart(r.Context(), start)
	}
	if err == nil {
		if err = c.serve(w, r); err != nil {
			err, c = errors.Join(err, c.stop()), nil
		}
	}
	f.release(function, c)
	if err != nil {
		slog.Error("container failed", "function", function, "error", err)
		reject(w, http.StatusInternalServerError)
	}
}

// coldStart starts a container; nil after an error.
func (f *Fleet) coldStart(ctx context.Context, start start) (container, error) {
	began := time.Now()
	c, err := start(ctx)
	time.Sleep(f.model.ColdStart - time.Since(began))
	if err != nil {
		return nil, fmt.Errorf("cold start: %w", err)
	}
	return c, nil
}

// A response without an invocation has ErrorHeader with the name of Lambda's error, as opposed to the function's.
const (
	ErrorHeader     = "X-Amzn-Errortype"
	TooManyRequests = "TooManyRequestsException" // no container was available
)

// reject responds without a container. Lambda rejects an invocation with status 429. API Gateway turns that into a 503,
// which does not say why; hotshard's API uses 429 wherever capacity is exhausted.
func reject(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"title":%q,"status":%d,"detail":"no container responded"}`, http.StatusText(status), status)
}

// acquire returns an idle container, or nil for a cold start; ok is false if the request is rejected.
func (f *Fleet) acquire(function string) (c container, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.stats[function]
	defer func() { f.stats[function] = s }()
	s.Requests++
	if f.busy == f.model.Concurrency {
		s.Rejected++
		return nil, false
	}
	f.busy++
	idle := f.idle[function]
	n := len(idle)
	if n == 0 {
		s.ColdStarts++
		return nil, true
	}
	f.idle[function] = idle[:n-1]
	return idle[n-1], true
}

// release returns what acquire reserved: the container, or nil if it is gone.
func (f *Fleet) release(function string, c container) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy--
	if c != nil {
		f.idle[function] = append(f.idle[function], c)
	}
}

// Stop stops all containers. None may be busy.
func (f *Fleet) Stop() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var faults []error
	for _, idle := range f.idle {
		for _, c := range idle {
			faults = append(faults, c.stop())
		}
	}
	f.idle = map[string][]container{}
	return errors.Join(faults...)
}

// Stats returns the figures of each function.
func (f *Fleet) Stats() map[string]Stats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.stats)
}
