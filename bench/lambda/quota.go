package lambda

import (
	"context"
	"sync"
	"time"
)

// AccountQuota is the default of an account's concurrent invocations; new accounts begin with
// 10. See https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html.
const AccountQuota = 1000

// Quota bounds the concurrent invocations of all functions. It is safe for concurrent use.
type Quota struct {
	most int

	mu    sync.Mutex
	stats QuotaStats
}

// QuotaStats are the figures of a quota.
type QuotaStats struct {
	Used    int   // invocations in flight
	Peak    int   // the most invocations in flight
	Delayed int64 // times that a delivery had to wait
}

// NewQuota returns a quota of most concurrent invocations.
func NewQuota(most int) *Quota { return &Quota{most: most} }

// Reserve moves n invocations to a new quota for one function, like Lambda's reserved
// concurrency. It must be called before the quota is used.
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

// acquire reserves an invocation and reports whether one was left.
func (q *Quota) acquire() bool {
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

// Pauses of a delivery that has to wait.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// Admit reserves an invocation for a delivery of an event source mapping or a schedule. If none
// is left it retries after growing pauses, as Lambda's pollers do. There is no queue. It fails
// only if ctx ends.
func (q *Quota) Admit(ctx context.Context) (release func(), err error) {
	for pause := firstPause; !q.acquire(); pause = min(2*pause, lastPause) {
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
