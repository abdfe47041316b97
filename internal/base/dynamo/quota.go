package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Costs of a retry, in tokens of the quota: those that the SDK's standard retryer had for years. With its newer costs, 14,
// and 5 after a throttle, a quota is empty after two minutes in which a sixth of the calls fail.
const (
	retryCost   = 5
	timeoutCost = 10 // of a retry after a time-out
)

// Quota limits a process's retries, so that they don't multiply its calls while DynamoDB fails. It has the SDK's
// standard size. A failed retry lowers the quota, and a call whose first attempt succeeds raises it.
type Quota struct{ bucket *ratelimit.TokenRateLimit }

// NewQuota returns a full quota.
func NewQuota() Quota { return Quota{ratelimit.NewTokenRateLimit(retry.DefaultRetryRateTokens)} }

type quotaKey struct{}

// Context returns a context for calls whose retries are paid from this quota. Calls without such a context are bounded only
// by [MaxAttempts].
func (q Quota) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, quotaKey{}, q)
}

// retries counts the attempts of one call, and pays for its retries from the quota.
type retries struct {
	Quota                 // zero if the context has no quota
	attempts int          // number of attempts that were made
	release  func() error // returns the cost of the latest retry to the quota; nil if nothing was paid
}

// retriesOf returns the retries of a call that has made no attempt yet.
func retriesOf(ctx context.Context) *retries {
	q, _ := ctx.Value(quotaKey{}).(Quota)
	return &retries{Quota: q}
}

// pay pays for a retry after an attempt that failed with err, and reports whether the quota allows it; true without a
// quota. The first retry is free after a throttle or a conflict, since it mostly goes to another write shard.
func (r *retries) pay(err error) bool {
	free := r.attempts == 1 && errors.Is(Classify(err), shard.ErrThrottled)
	if r.bucket == nil || free {
		return true
	}
	cost := uint(retryCost)
	if isTimeout(err) {
		cost = timeoutCost
	}
	release, emptyErr := r.bucket.GetToken(context.Background(), cost)
	r.release = release
	return emptyErr == nil
}

// succeeded returns the cost of a successful retry to the quota. If the call made no retry, it raises the quota.
func (r *retries) succeeded() {
	switch {
	case r.bucket == nil:
	case r.release != nil:
		_ = r.release() // it returns no error
	case r.attempts == 1:
		_ = r.bucket.AddTokens(retry.DefaultNoRetryIncrement)
	}
}
