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
	done   chan struct{} // closed when the renewal has ended; then err is set
	err    error
}

// wait waits until the renewal or the context ends. If both have ended, it returns the renewal's result.
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
		return dynamo.Classify(ctx.Err())
	}
}

// startRenewal returns the renewal in flight, or starts one; started reports whether this call did. A renewal has
// its own deadline, so a caller that gives up does not end it for the others. A renewal that takes longer than
// RenewTime by the wall clock is canceled: the process was frozen, and the log may have lost changes meanwhile.
func (m *Map) startRenewal(ctx context.Context, now time.Time) (r *renewal, started bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.inFlight != nil {
		if dynamo.Since(m.inFlight.begun) > RenewTime {
			m.inFlight.cancel()
		}
		return m.inFlight, false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), RenewTime)
	r = &renewal{begun: time.Now().Round(0), cancel: cancel, done: make(chan struct{})}
	m.inFlight = r
	go m.runRenewal(ctx, r, now)
	return r, true
}

// runRenewal renews the view, and ends r with the result.
func (m *Map) runRenewal(ctx context.Context, r *renewal, now time.Time) {
	defer r.cancel()
	v, err := m.pollOrLoad(ctx, now)
	m.mu.Lock()
	if took := dynamo.Since(r.begun); err == nil && took > RenewTime {
		err = fmt.Errorf("%w: renewing the shard map took %v, of at most %v", shard.ErrUnavailable, took, RenewTime)
	}
	if err == nil {
		v.setPolled(now)
		m.view = v
	}
	m.inFlight, r.err = nil, err
	m.mu.Unlock()
	close(r.done)
}

// renew renews the view if it is older than ViewAge. Concurrent callers share one renewal.
// If a renewal that began before the call fails, the caller waits for one more.
func (m *Map) renew(ctx context.Context, now time.Time) error {
	if err := cmp.Or(m.Check(), dynamo.CheckNow(now)); err != nil {
		return err
	}
	for waited := false; !m.current().fresh(now, m.options.ViewAge); waited = true {
		r, started := m.startRenewal(ctx, now)
		err := r.wait(ctx)
		if err == nil && started {
			return nil
		}
		beganBeforeCall := !started && !waited
		if err != nil && (!beganBeforeCall || ctx.Err() != nil) {
			return fmt.Errorf("%w: %w", shard.ErrStale, err)
		}
	}
	return nil
}

// pollOrLoad returns the view after a poll of the log, or a new view if the old one is older than reload. Once in
// LookBack, the poll begins earlier, to find late commits. Callers must not call it concurrently.
func (m *Map) pollOrLoad(ctx context.Context, now time.Time) (*view, error) {
	v := m.current()
	if !v.isWithin(now, reload) {
		return m.load(ctx, now)
	}
	if v.lookedBack.IsZero() || now.Sub(v.lookedBack).Abs() < LookBack {
		return v, m.followLog(ctx, v, v.polled().Add(-overlap))
	}
	if err := m.followLog(ctx, v, v.lookedBack.Add(-loadBack)); err != nil {
		return v, err
	}
	v.lookedBack = now
	return v, nil
}
