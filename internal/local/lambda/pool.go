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
	Name  string // the function's
	Start Start  // makes a container
	Quota *Quota // shared by all functions

	// Containers bounds the pool, as concurrency reserved for the function does. 0 is
	// no bound but the quota.
	Containers int
	// ColdStart is how long a cold start takes at least; Start's own time counts.
	ColdStart time.Duration
	// Timeout is the context's of a request; default 30 s.
	Timeout time.Duration

	Log *slog.Logger // default slog.Default
}

// Stats are a pool's figures since NewPool.
type Stats struct {
	Containers int   // there are
	Busy       int   // of these
	ColdStarts int64 // failed ones too
	Requests   int64 // that came, refused ones too
	OverPool   int64 // requests refused since all containers were busy, and there may be no more
	OverQuota  int64 // requests refused since the quota was used up
}

// Refused is how many requests found no container.
func (s Stats) Refused() int64 { return s.OverPool + s.OverQuota }

// Pool answers a function's requests: each in a container that has no other. Of several idle
// ones that is the one that was busy last, so that as few as possible are kept busy; an idle one
// is kept until Stop. A pool buffers requests and answers, as API Gateway and Lambda do, so that
// a container is busy for no longer than it works; and it goes on when a caller has left.
type Pool struct {
	o Options

	mu      sync.Mutex
	idle    []Container // the one that was busy last at the end
	stopped bool
	stats   Stats
}

// NewPool checks the options. There is no container before the first request.
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
		return nil, fmt.Errorf("a pool of containers: %w", err)
	}
	return &Pool{o: o}, nil
}

// Stats returns the figures so far. Idle containers count.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// ServeHTTP answers a request, or refuses it when there is no container for it.
func (p *Pool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, err := buffered(w, r)
	if err != nil {
		refuse(w, tooLarge)
		return
	}
	c, why := p.take()
	if why != nil {
		refuse(w, *why)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), p.o.Timeout)
	defer cancel()
	a := newAnswer()
	if err := p.serve(ctx, c, a, r.WithContext(ctx)); err != nil {
		p.o.Log.Error("container failed", "function", p.o.Name, "error", err)
		refuse(w, failed)
		return
	}
	a.send(w)
}

// serve has a container answer a request, a new one if it is nil, and gives it back.
func (p *Pool) serve(ctx context.Context, c Container, a *answer, r *http.Request) (err error) {
	if c == nil {
		if c, err = p.start(ctx); err != nil {
			p.give(nil)
			return fmt.Errorf("cold start: %w", err)
		}
	}
	if err = c.Serve(a, r); err != nil {
		p.give(nil)
		return errors.Join(err, c.Stop())
	}
	p.give(c)
	return nil
}

// start is a cold start.
func (p *Pool) start(ctx context.Context) (Container, error) {
	began := time.Now()
	c, err := p.o.Start(ctx)
	time.Sleep(p.o.ColdStart - time.Since(began))
	return c, err
}

// take returns an idle container, or nil for a cold start; or why there is neither.
func (p *Pool) take() (c Container, why *refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Requests++
	if !p.o.Quota.take() {
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

// give gives back what take took: the container, or nil if it is gone.
func (p *Pool) give(c Container) {
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
		_ = p.stop(c) // that is logged, and the answer is a good one
	}
}

// Stop stops all containers; a busy one when it has answered.
func (p *Pool) Stop() error {
	p.mu.Lock()
	all := p.idle
	p.idle, p.stopped = nil, true
	p.stats.Containers -= len(all)
	p.mu.Unlock()
	return p.stop(all...)
}

// stop stops containers, and logs what goes wrong.
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
