package dynamo

import (
	"cmp"
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

// MaxAttempts bounds the attempts of one write before its deadline: some 7 s of waiting in all.
const MaxAttempts = 12

// NoRetry turns the SDK's own retries off for one call: see the package's comment.
func NoRetry(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// Persist calls attempt until it succeeds, fails for good, or the deadline or MaxAttempts is
// reached; then it returns the last error with its kind. If any attempt may have been applied,
// the kind is ErrUnavailable, since a later throttle does not prove that it was not. If the context
// left no time for another attempt, the error is its error, too.
//
// It is for reads and for idempotent writes: after an attempt that timed out before the context
// ended, it makes another.
func Persist(ctx context.Context, attempt func(ctx context.Context) error) error {
	return repeat(ctx, WorthRetrying, attempt)
}

// PersistSum is Persist for a write that is not idempotent, such as an ADD, which would count again.
// It repeats only what is listed here:
//   - a throttle and a conflict, after which nothing was written;
//   - a request that was not sent for lack of a connection;
//   - once, a request whose connection was lost.
//
// So it makes no further attempt after a timeout or a 5xx, which DynamoDB may answer to a write that
// it has made.
func PersistSum(ctx context.Context, attempt func(ctx context.Context) error) error {
	lost := false
	return repeat(ctx, func(_ context.Context, err error) bool {
		if errors.Is(Kind(err), shard.ErrThrottled) || isUnsent(err) {
			return true
		}
		again := isDisconnected(err) && !lost
		lost = lost || again
		return again
	}, attempt)
}

func repeat(ctx context.Context, worth func(context.Context, error) bool, attempt func(ctx context.Context) error) error {
	var last error
	tries, unsure, again := 0, false, true
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last, tries = attempt(ctx), tries+1
		unsure = unsure || last != nil && !IsThrottle(last) && !IsConflict(last) && !errors.Is(last, shard.ErrThrottled)
		if again = last != nil && !isSpent(last) && worth(ctx, last); last != nil && !again {
			return struct{}{}, backoff.Permanent(last)
		}
		return struct{}{}, last
	}, backoff.WithBackOff(jittered()), backoff.WithMaxTries(MaxAttempts), backoff.WithMaxElapsedTime(retryTime(ctx)))
	if err == nil {
		return nil
	}
	kind := Kind(last)
	if unsure && errors.Is(kind, shard.ErrThrottled) {
		kind = &lostError{last}
	}
	switch {
	case !again:
		return kind
	case tries < MaxAttempts || ctx.Err() != nil:
		return fmt.Errorf("%w: %w", kind, cmp.Or(ctx.Err(), context.DeadlineExceeded))
	}
	return spentError{kind}
}

// spentError is the error of a call after MaxAttempts. A call around it makes no further attempt.
type spentError struct{ error }

// Unwrap returns the last attempt's error.
func (e spentError) Unwrap() error { return e.error }

func isSpent(err error) bool {
	_, spent := errors.AsType[spentError](err)
	return spent
}

// lostError is a throttle after an attempt with an unknown outcome. It is of kind ErrUnavailable
// and not of ErrThrottled; errors.As still finds the SDK's error.
type lostError struct{ last error }

func (e *lostError) Error() string {
	return fmt.Sprintf("%v: an attempt before was lost: %v", shard.ErrUnavailable, e.last)
}

// Unwrap leaves out the last error's kind.
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

// jittered returns random pauses that grow from about 25 ms to at most about 1 s.
func jittered() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.RandomizationFactor = 25*time.Millisecond, 2, 0.5
	b.MaxInterval = time.Second
	return b
}

// reserve is the least time of an attempt. An attempt that the deadline interrupts has an
// unknown outcome, which is worse for a caller than a throttle.
const reserve = 500 * time.Millisecond

// retryTime returns the time within which attempts may start. A retry that would start later is
// not made, and the call returns the last attempt's error.
func retryTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Minute
	}
	left := time.Until(deadline)
	return max(left-min(reserve, left/4), time.Nanosecond)
}

// StartBy returns the time by which a call's writes must start, so that the deadline does not
// interrupt them. Writes that wait longer for their turn are not sent, and are ErrThrottled.
func StartBy(ctx context.Context) time.Time { return time.Now().Add(retryTime(ctx)) }

// ErrUnsent is the error of a write that was not sent because its turn came too late.
var ErrUnsent = fmt.Errorf("%w: its turn came too late for it to be sent", shard.ErrThrottled)

// WorthRetrying reports whether another attempt may succeed. It may after an attempt's own
// timeout: most likely its connection was dead.
func WorthRetrying(ctx context.Context, err error) bool {
	if isTimeout(err) && ctx.Err() != nil {
		return false
	}
	kind := Kind(err)
	return errors.Is(kind, shard.ErrThrottled) || errors.Is(kind, shard.ErrUnavailable)
}

// Since returns the time since begin by the wall clock: a frozen process's monotonic clock stops.
func Since(begin time.Time) time.Duration { return time.Now().Round(0).Sub(begin) }

// Clock is a call's clock: it starts at a given time and runs on during the call.
type Clock struct{ given, begun time.Time }

// StartClock returns a call's clock that starts at now.
func StartClock(now time.Time) Clock { return Clock{now.Round(0), time.Now().Round(0)} }

// Now returns the clock's start plus the time since.
func (c Clock) Now() time.Time { return c.given.Add(Since(c.begun)) }

// Pause waits for d, and reports whether the context is still alive.
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
