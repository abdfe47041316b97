package hotkey

import (
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/metrics"
)

// span is when the records of a batch were made.
type span struct{ oldest, newest time.Time }

func (s *span) see(at time.Time) {
	if s.newest.IsZero() || at.Before(s.oldest) {
		s.oldest = at
	}
	if at.After(s.newest) {
		s.newest = at
	}
}

// ageEvery is how long ages are gathered where no report takes them along: each call
// to CloudWatch is paid for.
const ageEvery = time.Minute

// ages are the greatest ages that records had when they were handled, since they
// were last sent. They are this process's: what is not sent when it ends is lost.
type ages struct {
	mu             sync.Mutex
	sent           time.Time
	some           bool
	oldest, newest time.Duration // the greatest, of a batch's oldest and newest records
}

func (a *ages) see(s span, now time.Time) {
	if s.newest.IsZero() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.oldest = max(a.oldest, now.Sub(s.oldest))
	a.newest = max(a.newest, now.Sub(s.newest))
	a.some = true
}

// take returns the ages as metrics if others are sent anyway, or if it is time.
func (a *ages) take(anyway bool, now time.Time, dims []metrics.Dimension) []metrics.Datum {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.some || !anyway && now.Sub(a.sent) < ageEvery {
		return nil
	}
	age := func(name string, d time.Duration) metrics.Datum {
		return metrics.Datum{Name: name, Value: float64(d.Milliseconds()), Unit: metrics.Milliseconds, Time: now, Dimensions: dims}
	}
	data := []metrics.Datum{age("OldestRecordAge", a.oldest), age("NewestRecordAge", a.newest)}
	a.sent, a.some, a.oldest, a.newest = now, false, 0, 0
	return data
}
