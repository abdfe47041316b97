package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// link notifies the operator when calls have failed for notifyAfter, and when they succeed again.
type link struct {
	notify func(sentence string)

	mu       sync.Mutex
	failing  map[string]bool // stream shards whose last call failed; "" is a listing
	since    time.Time       // when the first of them failed
	notified bool
}

func newLink(notify func(string)) *link {
	if notify == nil {
		notify = func(string) {}
	}
	return &link{notify: notify, failing: make(map[string]bool)}
}

// persist retries a call until it succeeds, its error is permanent, or limit has passed; 0 is no limit.
func (l *link) persist(ctx context.Context, what string, limit time.Duration, call func() error) error {
	err := eventsource.Retry(ctx, limit, call, func(err error) { l.noteFailure(what, err) })
	if err == nil {
		l.noteAnswer(what)
	} else {
		l.mu.Lock()
		delete(l.failing, what)
		l.mu.Unlock()
	}
	return err
}

// notifyAfter is how long calls fail before the operator is notified.
const notifyAfter = 3 * time.Second

func (l *link) noteFailure(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failing) == 0 {
		l.since = time.Now()
	}
	l.failing[what] = true
	if !l.notified && time.Since(l.since) >= notifyAfter {
		l.notified = true
		l.notify(fmt.Sprintf("Disconnected since %s: %s. Reconnecting; no action needed.", l.since.UTC().Format(time.TimeOnly), eventsource.Cause(err)))
	}
}

func (l *link) noteAnswer(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failing[what] {
		return
	}
	delete(l.failing, what)
	if l.notified && len(l.failing) == 0 {
		l.notified = false
		l.notify(fmt.Sprintf("Reconnected after %v.", time.Since(l.since).Round(time.Second)))
	}
}
