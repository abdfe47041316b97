package shardmap

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// RenewTime bounds how long a renewal continues after its caller's context has ended.
const RenewTime = 10 * time.Second

// renewal is one renewal of the view, shared by all calls that wait for it.
type renewal struct {
	begun  time.Time // by the wall clock
	cancel context.CancelFunc
	done   chan struct{} // closed at its end
	err    error         // set before done is closed
}

// wait waits until the renewal or the context ends.
func (r *renewal) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	default:
	}
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return dynamo.Kind(ctx.Err())
	}
}

// start returns the renewal in flight, or begins one; mine reports which. A renewal has its
// own deadline, so a caller that gives up does not end it for the others. That deadline
// stops while the process is frozen, and the log may meanwhile have lost changes. So a renewal
// that exceeds it by the wall clock is cancelled and ends with an error.
func (m *Map) start(ctx context.Context, now time.Time) (r *renewal, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.under != nil {
		if dynamo.Since(m.under.begun) > RenewTime {
			m.under.cancel()
		}
		return m.under, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RenewTime)
	r = &renewal{begun: time.Now().Round(0), cancel: cancel, done: make(chan struct{})}
	m.under = r
	go func() {
		defer cancel()
		v, err := m.bringUp(ctx, now)
		m.mu.Lock()
		if took := dynamo.Since(r.begun); err == nil && took > RenewTime {
			err = fmt.Errorf("%w: renewing the shard map took %v, of at most %v", shard.ErrUnavailable, took, RenewTime)
		}
		if err == nil {
			v.reached(now)
			m.view = v
		}
		m.under, r.err = nil, err
		m.mu.Unlock()
		close(r.done)
	}()
	return r, true
}

// renew renews the view if it is older than ViewAge. Concurrent callers share one renewal.
// If a renewal that began before the call fails, the caller waits for one more.
func (m *Map) renew(ctx context.Context, now time.Time) error {
	if err := cmp.Or(m.given(), dynamo.CheckNow(now)); err != nil {
		return err
	}
	for met := false; !m.current().fresh(now, m.options.ViewAge); met = true {
		r, mine := m.start(ctx, now)
		err := r.wait(ctx)
		if err == nil && mine {
			return nil
		}
		if err != nil && (mine || met || ctx.Err() != nil) {
			return fmt.Errorf("%w: %w", shard.ErrStale, err)
		}
	}
	return nil
}

// bringUp polls the view, or loads another one, and returns it. Only one call is in flight at a
// time.
func (m *Map) bringUp(ctx context.Context, now time.Time) (*view, error) {
	v := m.current()
	if !v.younger(now, m.times.reload) {
		return m.load(ctx, now)
	}
	return v, m.followLog(ctx, v, v.polled().Add(-m.times.overlap))
}
