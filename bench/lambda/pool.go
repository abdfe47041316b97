package lambda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// Container serves one request at a time. A Pool does not call it concurrently.
type Container interface {
	// Serve responds to a request. After an error the response and the container are discarded.
	Serve(w http.ResponseWriter, r *http.Request) error
	// Stop releases the container's resources.
	Stop() error
}

// Start makes a container: the init phase of a cold start.
type Start func(ctx context.Context) (Container, error)

// handlerContainer is a container in this process.
type handlerContainer struct{ http.Handler }

// inProcess returns a function that starts containers in this process.
func inProcess(handler func(context.Context) (http.Handler, error)) Start {
	return func(ctx context.Context) (Container, error) {
		h, err := handler(ctx)
		return handlerContainer{h}, err
	}
}

// Serve turns a panic into an error, because it would end a process.
func (c handlerContainer) Serve(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the handler panicked: %v", fault)
		}
	}()
	c.ServeHTTP(w, r)
	return nil
}

func (handlerContainer) Stop() error { return nil }

// timeout bounds a request.
const timeout = 30 * time.Second

// Pool serves a function's requests, each in a container without another request. A request goes to the idle container
// that was busy last, so that few are kept busy. Idle containers stay until Stop. A pool buffers requests and responses,
// as API Gateway and Lambda do, so slow clients do not keep containers busy. A request continues after its client has
// left.
type Pool struct {
	Start      Start         // makes a container
	Quota      *Quota        // shared by all functions
	Containers int           // maximum, like concurrency reserved for the function; with 0 only the quota bounds it
	ColdStart  time.Duration // least time of a cold start, which includes Start's own time

	mu      sync.Mutex
	idle    []Container // the most recently busy one is last
	stopped bool
	stats   Stats
}

// Stats are a pool's figures.
type Stats struct {
	Containers int   // existing containers
	Busy       int   // containers with a request
	ColdStarts int64 // including failed ones
	Requests   int64 // including rejected ones
	OverPool   int64 // requests rejected because all of the pool's containers were busy
	OverQuota  int64 // requests rejected because the quota was used up
}

// Stats returns the current figures.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// ServeHTTP responds to a request, or rejects it if no container is available.
func (p *Pool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		reject(w, http.StatusBadRequest)
		return
	}
	c, ok := p.acquire()
	if !ok {
		w.Header().Set(ErrorHeader, TooManyRequests)
		reject(w, http.StatusTooManyRequests)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), timeout)
	defer cancel()
	r = r.Clone(ctx)
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	answer := httptest.NewRecorder()
	if err := p.serve(ctx, c, answer, r); err != nil {
		slog.Error("container failed", "error", err)
		reject(w, http.StatusInternalServerError)
		return
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the client may be gone
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

// serve responds with a container, or with a new one if c is nil, and releases it.
func (p *Pool) serve(ctx context.Context, c Container, w http.ResponseWriter, r *http.Request) (err error) {
	if c == nil {
		if c, err = p.start(ctx); err != nil {
			p.release(nil)
			return fmt.Errorf("cold start: %w", err)
		}
	}
	if err = c.Serve(w, r); err != nil {
		p.release(nil)
		return errors.Join(err, c.Stop())
	}
	p.release(c)
	return nil
}

// start makes a cold start.
func (p *Pool) start(ctx context.Context) (Container, error) {
	began := time.Now()
	c, err := p.Start(ctx)
	time.Sleep(p.ColdStart - time.Since(began))
	return c, err
}

// acquire returns an idle container, or nil for a cold start; ok is false if the request is rejected.
func (p *Pool) acquire() (c Container, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Requests++
	if !p.Quota.acquire() {
		p.stats.OverQuota++
		return nil, false
	}
	n := len(p.idle)
	if n == 0 && p.Containers > 0 && p.stats.Containers >= p.Containers {
		p.Quota.release()
		p.stats.OverPool++
		return nil, false
	}
	p.stats.Busy++
	if n == 0 {
		p.stats.Containers++
		p.stats.ColdStarts++
		return nil, true
	}
	c, p.idle = p.idle[n-1], p.idle[:n-1]
	return c, true
}

// release returns what acquire reserved: the container, or nil if it is gone.
func (p *Pool) release(c Container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Quota.release()
	p.stats.Busy--
	if c != nil && !p.stopped {
		p.idle = append(p.idle, c)
		return
	}
	p.stats.Containers--
	if c != nil {
		_ = c.Stop() // the response is valid
	}
}

// Stop stops all containers. A busy one is stopped after its response.
func (p *Pool) Stop() error {
	p.mu.Lock()
	all := p.idle
	p.idle, p.stopped = nil, true
	p.stats.Containers -= len(all)
	p.mu.Unlock()
	var faults []error
	for _, c := range all {
		faults = append(faults, c.Stop())
	}
	return errors.Join(faults...)
}
