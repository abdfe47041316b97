package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Costs of retries. The SDK's standard retryer has had these for years; its new ones, 14 and for a throttle 5, would use
// up a quota within two minutes in which a sixth of the calls fail.
const (
	retryCost   = 5
	timeoutCost = 10
)

// Quota is a process's quota of retries, of the SDK's standard size. Retries can't multiply the calls
// while DynamoDB fails: a failed retry lowers the quota, and a call without retries raises it.
type Quota struct{ bucket *ratelimit.TokenRateLimit }

// NewQuota returns a full quota.
func NewQuota() Quota { return Quota{ratelimit.NewTokenRateLimit(retry.DefaultRetryRateTokens)} }

type quotaKey struct{}

// Context returns a context for calls whose retries are paid from this quota. Other calls make retries up to
// [MaxAttempts], whatever the quota.
func (q Quota) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, quotaKey{}, q)
}

// retries counts the attempts of one call, and pays for its retries from the quota.
type retries struct {
	Quota                 // zero if the context has no quota
	attempts int          // that were made
	release  func() error // returns the cost of the latest retry to the quota
}

func retriesOf(ctx context.Context) *retries {
	q, _ := ctx.Value(quotaKey{}).(Quota)
	return &retries{Quota: q}
}

// pay reports whether the quota allows a retry after an attempt that failed with err. The first retry is free if nothing
// was written, since it mostly goes to another write shard.
func (r *retries) pay(err error) bool {
	free := r.attempts == 1 && errors.Is(Kind(err), shard.ErrThrottled)
	if r.bucket == nil || free {
		return true
	}
	cost := uint(retryCost)
	if isTimeout(err) {
		cost = timeoutCost
	}
	release, err := r.bucket.GetToken(context.Background(), cost)
	r.release = release
	return err == nil
}

// succeeded returns the cost of the successful retry to the quota. A call without retries raises the quota.
func (r *retries) succeeded() {
	switch {
	case r.bucket == nil:
	case r.release != nil:
		_ = r.release() // it returns no error
	case r.attempts == 1:
		_ = r.bucket.AddTokens(retry.DefaultNoRetryIncrement)
	}
}
