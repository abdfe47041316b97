package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/cenkalti/backoff/v5"

	"github.com/hotshard/hotshard/pkg/shard"
)

// MaxAttempts bounds the attempts of one call. The pauses between them are about 7 s in all.
const MaxAttempts = 12

// NoRetry turns off the SDK's own retries of one request.
func NoRetry(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// Persist calls attempt until it succeeds, its error can't be retried, MaxAttempts are made, or the context's [Quota]
// allows no retry. It also ends shortly before the context's deadline or, without one, after a minute. It returns the
// last error with its kind. If an earlier attempt may have been applied, the kind is ErrUnavailable, even if the last
// attempt was throttled. If no time was left for another attempt, the error is also the context's, or DeadlineExceeded.
//
// It is for reads and for idempotent writes: after an attempt that timed out before the context
// ended, it makes another.
func Persist(ctx context.Context, attempt func(ctx context.Context) error) error {
	return repeat(ctx, WorthRetrying, attempt)
}

// PersistSum is Persist for a write that is not idempotent, such as an ADD. It makes another attempt only after:
//   - a throttle or a conflict, since nothing was written;
//   - a request that was not sent for lack of a connection;
//   - once, a request whose connection was lost: DynamoDB may then make the write twice.
//
// It makes none after a timeout or a 5xx, since DynamoDB may have made the write.
func PersistSum(ctx context.Context, attempt func(ctx context.Context) error) error {
	disconnects := 0
	return repeat(ctx, func(_ context.Context, err error) bool {
		if errors.Is(Classify(err), shard.ErrThrottled) || isUnsent(err) {
			return true
		}
		if !isDisconnected(err) {
			return false
		}
		disconnects++
		return disconnects == 1
	}, attempt)
}

// repeat calls attempt as Persist does; retryable reports whether an error can be retried.
func repeat(ctx context.Context, retryable func(context.Context, error) bool, attempt func(ctx context.Context) error) error {
	retries, pauses, mayHaveApplied := retriesOf(ctx), jittered(), false
	lastStart := time.Now().Add(retryTime(ctx))
	for {
		err := attempt(ctx)
		retries.attempts++
		if err == nil {
			retries.succeeded()
			return nil
		}
		mayHaveApplied = mayHaveApplied || MayApply(err)
		failed := Classify(err)
		if mayHaveApplied && errors.Is(failed, shard.ErrThrottled) {
			failed = &unknownOutcomeError{err}
		}
		isLast := retries.attempts == MaxAttempts
		switch {
		case IsFinal(err) || !retryable(ctx, err):
			return failed
		case isLast && ctx.Err() == nil:
			return finalError{failed}
		case !isLast && !retries.pay(err):
			return failed
		}
		pause := pauses.NextBackOff()
		if isLast || time.Now().Add(pause).After(lastStart) || !Pause(ctx, pause) { // no time is left
			return fmt.Errorf("%w: %w", failed, cmp.Or(ctx.Err(), context.DeadlineExceeded))
		}
	}
}

// finalError is an error after which an enclosing Persist makes no further attempt.
type finalError struct{ error }

// Unwrap returns the last attempt's error.
func (e finalError) Unwrap() error { return e.error }

// Final wraps an error so that Persist makes no further attempt after it.
func Final(err error) error { return finalError{err} }

// IsFinal reports whether Persist makes no further attempt after an error: the error is from Final, or from a call that made
// MaxAttempts attempts.
func IsFinal(err error) bool {
	_, spent := errors.AsType[finalError](err)
	return spent
}

// unknownOutcomeError is a throttle after an attempt with an unknown outcome. It is of kind
// ErrUnavailable and not of ErrThrottled; errors.As still finds the SDK's error.
type unknownOutcomeError struct{ last error }

func (e *unknownOutcomeError) Error() string {
	return fmt.Sprintf("%v: an earlier attempt may have been applied; the last attempt failed: %v", shard.ErrUnavailable, e.last)
}

// Unwrap returns ErrUnavailable and the SDK's error, without its kind.
func (e *unknownOutcomeError) Unwrap() []error {
	if failed, ok := errors.AsType[smithy.APIError](e.last); ok {
		return []error{shard.ErrUnavailable, failed}
	}
	return []error{shard.ErrUnavailable}
}

func hasUnknownOutcome(err error) bool {
	_, unknown := errors.AsType[*unknownOutcomeError](err)
	return unknown
}

// jittered returns random pauses that grow from about 25 ms to about 1 s.
func jittered() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.RandomizationFactor = 25*time.Millisecond, 2, 0.5
	b.MaxInterval = time.Second
	return b
}

// reserve is the longest time before the deadline in which no attempt starts. A write that the deadline interrupts has
// an unknown outcome, which is worse for a caller than a throttle.
const reserve = 500 * time.Millisecond

// retryTime returns for how long attempts may start: a minute without a deadline, and otherwise the time that is left
// less the reserve, or less a quarter of the time if that is shorter.
func retryTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return time.Minute
	}
	left := time.Until(deadline)
	return max(left-min(reserve, left/4), time.Nanosecond)
}

// StartBy returns the time by which a call's writes must start, so that ctx's deadline does not interrupt them. A caller
// returns ErrUnsent for a write that would start later.
func StartBy(ctx context.Context) time.Time { return time.Now().Add(retryTime(ctx)) }

// ErrUnsent is the error of a write that waited for earlier writes until it was too late to start.
var ErrUnsent = fmt.Errorf("%w: it was not sent, since earlier writes of the call took too long", shard.ErrThrottled)

// Bounds of RepeatConflicts.
const (
	maxConflicts     = 8 // attempts
	maxConflictPause = 20 * time.Millisecond
)

// RepeatConflicts calls attempt again after a conflict that is not also a throttle, up to 8 times in all, until startBy
// or the end of ctx. It returns the last attempt's error.
func RepeatConflicts(ctx context.Context, startBy time.Time, attempt func(context.Context) error) (err error) {
	for i := range maxConflicts {
		if i > 0 && !Pause(ctx, rand.N(maxConflictPause)) {
			break
		}
		err = attempt(ctx)
		if IsThrottle(err) || !IsConflict(err) || time.Now().After(startBy) {
			break
		}
	}
	return err
}

// WorthRetrying reports whether another attempt may succeed. It may after a throttle, a conflict, a lost connection or
// a failure of DynamoDB, and after a time-out if ctx has not ended.
func WorthRetrying(ctx context.Context, err error) bool {
	if isTimeout(err) && ctx.Err() != nil {
		return false
	}
	kind := Classify(err)
	return errors.Is(kind, shard.ErrThrottled) || errors.Is(kind, shard.ErrUnavailable)
}

// Since returns the time since begin by the wall clock: the monotonic clock stops while Lambda freezes a process.
func Since(begin time.Time) time.Duration { return time.Now().Round(0).Sub(begin) }

// Clock is a call's clock. It starts at the time that the caller gave, and runs during the call.
type Clock struct{ given, begun time.Time }

// StartClock returns a call's clock that starts at now.
func StartClock(now time.Time) Clock { return Clock{now.Round(0), time.Now().Round(0)} }

// Now returns the clock's start plus the time since.
func (c Clock) Now() time.Time { return c.given.Add(Since(c.begun)) }

// Pause waits for d and returns true. If ctx ends first, it returns false at once.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 { // a timer could fire before ctx is looked at
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
