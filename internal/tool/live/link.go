package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// link retries calls. It notifies the operator when calls have failed for notifyAfter, and when they succeed again.
type link struct {
	notify func(sentence string)

	mu       sync.Mutex
	failing  map[string]bool // ids of stream shards whose last call failed; "" is a listing
	since    time.Time       // since when failing is not empty
	notified bool
}

func newLink(notify func(string)) *link {
	if notify == nil {
		notify = func(string) {}
	}
	return &link{notify: notify, failing: make(map[string]bool)}
}

// retry retries a call until it succeeds, its error is permanent, or limit has passed; 0 is no limit. shardID is the stream
// shard of the call, or "" for a listing.
func (l *link) retry(ctx context.Context, shardID string, limit time.Duration, call func() error) error {
	err := eventsource.Retry(ctx, limit, call, func(err error) { l.noteFailure(shardID, err) })
	if err == nil {
		l.noteSuccess(shardID)
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failing, shardID)
	return err
}

// notifyAfter is how long calls fail before the operator is notified.
const notifyAfter = 3 * time.Second

// noteFailure records a failed call, and notifies the operator once if calls have failed for notifyAfter.
func (l *link) noteFailure(shardID string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failing) == 0 {
		l.since = time.Now()
	}
	l.failing[shardID] = true
	if !l.notified && time.Since(l.since) >= notifyAfter {
		l.notified = true
		l.notify(fmt.Sprintf("Disconnected since %s: %s. Reconnecting; no action needed.", l.since.UTC().Format(time.TimeOnly), eventsource.Cause(err)))
	}
}

// noteSuccess records a successful call. If all calls succeed again after a notice, it notifies the operator.
func (l *link) noteSuccess(shardID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failing[shardID] {
		return
	}
	delete(l.failing, shardID)
	if l.notified && len(l.failing) == 0 {
		l.notified = false
		l.notify(fmt.Sprintf("Reconnected after %v.", time.Since(l.since).Round(time.Second)))
	}
}
