package lambda

import (
	"context"
	"sync"
	"time"
)

// AccountQuota is how many invocations an account may have under way by default;
// new accounts begin with 10. See
// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html.
const AccountQuota = 1000

// Quota is how many invocations all functions together may have under way. It is
// safe for concurrent use.
type Quota struct {
	most int

	mu    sync.Mutex
	stats QuotaStats
}

// QuotaStats say how a quota is used.
type QuotaStats struct {
	Used    int   // invocations under way
	Peak    int   // the most that were
	Delayed int64 // times that a delivery found nothing left, and waited
}

// NewQuota returns a quota of so many invocations.
func NewQuota(most int) *Quota { return &Quota{most: most} }

// Reserve takes n of the quota for one function alone and returns them as a quota of their
// own: neither can use what the other has, as with Lambda's reserved concurrency. It is
// called before the quota is used.
func (q *Quota) Reserve(n int) *Quota {
	q.most -= n
	return NewQuota(n)
}

// Stats returns the figures since NewQuota.
func (q *Quota) Stats() QuotaStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stats
}

// take takes one for an invocation, unless there is none left.
func (q *Quota) take() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stats.Used >= q.most {
		return false
	}
	q.stats.Used++
	q.stats.Peak = max(q.stats.Peak, q.stats.Used)
	return true
}

func (q *Quota) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Used--
}

// Pauses of a delivery that found nothing left.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// Admit takes one for the delivery of an event source mapping or a schedule. While
// there is none left it tries again after growing pauses, as Lambda's pollers do, who
// have no place in a queue. The only error is that ctx has ended.
func (q *Quota) Admit(ctx context.Context) (release func(), err error) {
	for pause := firstPause; !q.take(); pause = min(2*pause, lastPause) {
		q.delayed()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return q.release, nil
}

func (q *Quota) delayed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stats.Delayed++
}
