package shardmap

import (
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// RenewTime bounds how long a renewal of a view goes on after its caller is gone.
const RenewTime = 10 * time.Second

// renewal is one bringing up of the view, for all who wait for it.
type renewal struct {
	begun  time.Time // by the wall clock
	cancel context.CancelFunc
	done   chan struct{} // closed at its end
	err    error         // set before that
}

// wait waits for the renewal's end, as long as the context lasts.
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

// start returns the renewal that is under way, or begins one, which is the caller's
// then. It has a deadline of its own: who waits for it may give up, and it goes on
// for the others. That deadline stands still while the process is frozen, so one that
// is over it by the wall clock is cut off, and ends with an error.
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
		r.err = m.bringUp(ctx, now)
		m.mu.Lock()
		m.under = nil
		m.mu.Unlock()
		close(r.done)
	}()
	return r, true
}

// renew brings the view up to now unless it is young enough. Callers that meet
// wait for one renewal instead of each doing one. One that began before the caller came
// and fails says little of what the next would do: that is waited for, too.
func (m *Map) renew(ctx context.Context, now time.Time) error {
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

// bringUp makes the view one of now. Only one is under way at a time.
func (m *Map) bringUp(ctx context.Context, now time.Time) error {
	v := m.current()
	if !v.younger(now, m.times.reload) {
		return m.load(ctx, now)
	}
	if err := m.follow(ctx, v, v.polled().Add(-m.times.overlap)); err != nil {
		return err
	}
	v.reached(now)
	return nil
}
