package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/cenkalti/backoff/v5"

	"github.com/hotshard/hotshard/pkg/shard"
)

// MaxAttempts bounds the attempts of one write within its deadline: some 7 s of
// waiting in all.
const MaxAttempts = 12

// NoRetry turns the SDK's own retries off for one call: see the package's comment.
func NoRetry(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// Persist calls attempt until it succeeds, fails for good, or the deadline or
// the bound of attempts is reached; then it returns the last error as a kind. When
// any attempt may have been applied, that is ErrUnavailable: no later throttle can
// tell that it was not.
//
// It is for reads, and for writes that done twice are as done once: an attempt that
// timed out before the context ended is followed by another.
func Persist(ctx context.Context, attempt func(ctx context.Context) error) error {
	return repeat(ctx, WorthRetrying, attempt)
}

// PersistSum is persist for a write of which each attempt that was applied counts, such
// as an ADD: after one that timed out there is no other. A server that is late is late
// for many, and would count much twice.
func PersistSum(ctx context.Context, attempt func(ctx context.Context) error) error {
	return repeat(ctx, func(ctx context.Context, err error) bool {
		return (!isTimeout(err) || isUnsent(err)) && WorthRetrying(ctx, err)
	}, attempt)
}

func repeat(ctx context.Context, worth func(context.Context, error) bool, attempt func(ctx context.Context) error) error {
	var last error
	unsure := false
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last = attempt(ctx)
		unsure = unsure || last != nil && !IsThrottle(last) && !IsConflict(last) && !errors.Is(last, shard.ErrThrottled)
		if last != nil && !worth(ctx, last) {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	}, backoff.WithBackOff(jittered()), backoff.WithMaxTries(MaxAttempts), backoff.WithMaxElapsedTime(retryTime(ctx)))
	if err != nil && last == nil {
		last = err // the context had ended before the first attempt
	}
	kind := Kind(last)
	if unsure && errors.Is(kind, shard.ErrThrottled) {
		return &lostError{last}
	}
	return kind
}

// lostError is a throttle after an attempt whose answer was lost: of kind
// ErrUnavailable, and no throttle to those who ask, but for the SDK's error in it.
type lostError struct{ last error }

func (e *lostError) Error() string {
	return fmt.Sprintf("%v: an attempt before was lost: %v", shard.ErrUnavailable, e.last)
}

// Unwrap leaves out the kind of the last error.
func (e *lostError) Unwrap() []error {
	if failed, ok := errors.AsType[*smithy.OperationError](e.last); ok {
		return []error{shard.ErrUnavailable, failed}
	}
	if failed, ok := errors.AsType[smithy.APIError](e.last); ok {
		return []error{shard.ErrUnavailable, failed}
	}
	return []error{shard.ErrUnavailable}
}

func isLost(err error) bool {
	_, lost := errors.AsType[*lostError](err)
	return lost
}

// jittered grows from about 25 ms to at most about a second.
func jittered() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.RandomizationFactor = 25*time.Millisecond, 2, 0.5
	b.MaxInterval = time.Second
	return b
}

// reserve is what an attempt is given at least: one that the deadline cuts off
// may have been applied or not, which is worse to tell a caller than that there
// was no capacity.
const reserve = 500 * time.Millisecond

// retryTime is the time within which attempts may start. A retry that would start
// later gives up at once, with the error that says why it was needed.
func retryTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Minute
	}
	left := time.Until(deadline)
	return max(left-min(reserve, left/4), time.Nanosecond)
}

// StartBy is the time by which a write of a call must have started, so that it need
// not be cut off by the call's deadline: the rest of a call's many writes that waited
// for their turn longer than that are better not sent, which is ErrThrottled.
func StartBy(ctx context.Context) time.Time { return time.Now().Add(retryTime(ctx)) }

// ErrUnsent is a write's whose turn came too late.
var ErrUnsent = fmt.Errorf("%w: its turn came too late for it to be sent", shard.ErrThrottled)

// WorthRetrying tells whether another attempt may do better. One may that timed out by
// itself: its connection was most likely dead.
func WorthRetrying(ctx context.Context, err error) bool {
	if isTimeout(err) && ctx.Err() != nil {
		return false
	}
	kind := Kind(err)
	return errors.Is(kind, shard.ErrThrottled) || errors.Is(kind, shard.ErrUnavailable)
}

// Since is by the wall clock: that of a frozen process stands still otherwise.
func Since(begin time.Time) time.Duration { return time.Now().Round(0).Sub(begin) }

// Clock is the time of a call that was given one: it goes on from there while the call lasts.
type Clock struct{ given, begun time.Time }

// StartClock returns a call's clock, which now is the time of.
func StartClock(now time.Time) Clock { return Clock{now.Round(0), time.Now().Round(0)} }

// Now is the time that the call was given, later by what it has taken.
func (c Clock) Now() time.Time { return c.given.Add(Since(c.begun)) }

// Pause waits, and tells whether the context has not ended.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
