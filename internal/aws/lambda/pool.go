package lambda

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// Options of a Pool. Fields without a default must be set.
type Options struct {
	Name  string // the function's name
	Start Start  // makes a container
	Quota *Quota // shared by all functions

	// Containers bounds the pool, like concurrency reserved for the function. With 0 only the
	// quota bounds it.
	Containers int
	// ColdStart is the least time of a cold start, which includes Start's own time.
	ColdStart time.Duration
	// Timeout bounds a request; default 30 s.
	Timeout time.Duration

	Log *slog.Logger // default slog.Default
}

// Stats are a pool's figures since NewPool.
type Stats struct {
	Containers int   // existing containers
	Busy       int   // containers with a request
	ColdStarts int64 // including failed ones
	Requests   int64 // including rejected ones
	OverPool   int64 // requests rejected because all of the pool's containers were busy
	OverQuota  int64 // requests rejected because the quota was used up
}

// Refused returns the number of requests that found no container.
func (s Stats) Refused() int64 { return s.OverPool + s.OverQuota }

// Pool serves a function's requests, each in a container without another request. A request goes to
// the idle container that was busy last, so that few are kept busy. Idle containers stay until
// Stop. A pool buffers requests and responses, as API Gateway and Lambda do, so slow clients do not
// keep containers busy. A request continues after its client has left.
type Pool struct {
	o Options

	mu      sync.Mutex
	idle    []Container // the most recently busy one is last
	stopped bool
	stats   Stats
}

// NewPool returns a pool without containers, or the invalid options.
func NewPool(o Options) (*Pool, error) {
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	var faults []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	check(o.Name != "", "Name is not set")
	check(o.Start != nil, "Start is not set")
	check(o.Quota != nil, "Quota is not set")
	check(o.Containers >= 0, "Containers is %d: want 0 or more", o.Containers)
	check(o.ColdStart >= 0, "ColdStart is %v: want 0 or more", o.ColdStart)
	if err := errors.Join(faults...); err != nil {
		return nil, fmt.Errorf("container pool: %w", err)
	}
	return &Pool{o: o}, nil
}

// Stats returns the current figures.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// ServeHTTP responds to a request, or rejects it if no container is available.
func (p *Pool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, err := buffered(w, r)
	if err != nil {
		reject(w, tooLarge)
		return
	}
	c, why := p.acquire()
	if why != nil {
		reject(w, *why)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), p.o.Timeout)
	defer cancel()
	a := newResponse()
	if err := p.serve(ctx, c, a, r.WithContext(ctx)); err != nil {
		p.o.Log.Error("container failed", "function", p.o.Name, "error", err)
		reject(w, failed)
		return
	}
	a.send(w)
}

// serve responds with a container, or with a new one if c is nil, and releases it.
func (p *Pool) serve(ctx context.Context, c Container, a *response, r *http.Request) (err error) {
	if c == nil {
		if c, err = p.start(ctx); err != nil {
			p.release(nil)
			return fmt.Errorf("cold start: %w", err)
		}
	}
	if err = c.Serve(a, r); err != nil {
		p.release(nil)
		return errors.Join(err, c.Stop())
	}
	p.release(c)
	return nil
}

// start makes a cold start.
func (p *Pool) start(ctx context.Context) (Container, error) {
	began := time.Now()
	c, err := p.o.Start(ctx)
	time.Sleep(p.o.ColdStart - time.Since(began))
	return c, err
}

// acquire returns an idle container, nil for a cold start, or the reason for a rejection.
func (p *Pool) acquire() (c Container, why *rejection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Requests++
	if !p.o.Quota.acquire() {
		p.stats.OverQuota++
		return nil, &overQuota
	}
	n := len(p.idle)
	if n == 0 && p.o.Containers > 0 && p.stats.Containers >= p.o.Containers {
		p.o.Quota.release()
		p.stats.OverPool++
		return nil, &overPool
	}
	p.stats.Busy++
	if n == 0 {
		p.stats.Containers++
		p.stats.ColdStarts++
		return nil, nil
	}
	c, p.idle = p.idle[n-1], p.idle[:n-1]
	return c, nil
}

// release returns what acquire reserved: the container, or nil if it is gone.
func (p *Pool) release(c Container) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.o.Quota.release()
	p.stats.Busy--
	if c != nil && !p.stopped {
		p.idle = append(p.idle, c)
		return
	}
	p.stats.Containers--
	if c != nil {
		_ = p.stop(c) // stop logs the error, and the response is valid
	}
}

// Stop stops all containers. A busy one is stopped after its response.
func (p *Pool) Stop() error {
	p.mu.Lock()
	all := p.idle
	p.idle, p.stopped = nil, true
	p.stats.Containers -= len(all)
	p.mu.Unlock()
	return p.stop(all...)
}

// stop stops containers and logs errors.
func (p *Pool) stop(containers ...Container) error {
	var faults []error
	for _, c := range containers {
		if err := c.Stop(); err != nil {
			faults = append(faults, fmt.Errorf("stopping a container of %s: %w", p.o.Name, err))
		}
	}
	err := errors.Join(faults...)
	if err != nil {
		p.o.Log.Error("container not stopped", "function", p.o.Name, "error", err)
	}
	return err
}
