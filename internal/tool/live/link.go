package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/aws/streamshard"
)

// isGone reports whether the stream or a stream shard no longer exists, or the stream has ended.
func isGone(err error) bool {
	_, gone := errors.AsType[*types.ResourceNotFoundException](err)
	return gone || errors.Is(err, errOver)
}

// isAbsent reports whether the table does not exist or has no stream.
func isAbsent(err error) bool {
	_, absent := errors.AsType[*ddbtypes.ResourceNotFoundException](err)
	return absent || errors.Is(err, ErrNoStream)
}

// errAbsent means that a table that was read no longer exists or has no stream.
var errAbsent = errors.New("the table has no stream")

// link reports to the operator that the connection was lost, and that it is back.
type link struct {
	tell func(sentence string)

	mu      sync.Mutex
	failing map[string]bool // stream shards, and listings, whose last call failed
	since   time.Time       // when the first of them failed
	told    bool
}

func newLink(tell func(string)) *link {
	if tell == nil {
		tell = func(string) {}
	}
	return &link{tell: tell, failing: make(map[string]bool)}
}

// persist repeats a call until it succeeds, fails for good, or limit is over; 0 is no limit.
func (l *link) persist(ctx context.Context, what string, limit time.Duration, call func() error) error {
	err := streamshard.Retry(ctx, limit, call, func(err error) {
		if !errors.Is(err, errAbsent) {
			l.failed(what, err)
		}
	})
	if err == nil {
		l.answered(what)
	} else {
		l.mu.Lock()
		delete(l.failing, what)
		l.mu.Unlock()
	}
	return err
}

// silent is how long calls may fail before the operator is notified.
const silent = 3 * time.Second

// failed notes a failed call.
func (l *link) failed(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failing) == 0 {
		l.since = time.Now()
	}
	l.failing[what] = true
	if !l.told && time.Since(l.since) >= silent {
		l.told = true
		l.tell(fmt.Sprintf("Disconnected since %s: %s. Reconnecting; no action needed.", l.since.UTC().Format(time.TimeOnly), streamshard.Cause(err)))
	}
}

// answered notes a successful call.
func (l *link) answered(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failing[what] {
		return
	}
	delete(l.failing, what)
	if l.told && len(l.failing) == 0 {
		l.told = false
		l.tell(fmt.Sprintf("Reconnected after %v.", time.Since(l.since).Round(time.Second)))
	}
}

// forget drops all stream shards, since they are not called any more.
func (l *link) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.failing)
	l.told = false
}
