package dynamo_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestLostThenThrottled checks a write whose first attempt has an unknown outcome, and whose last one is throttled. It
// is unavailable and not throttled. The error has DynamoDB's last one, also through an inner Persist.
func TestLostThenThrottled(t *testing.T) {
	t.Parallel()
	throttle := &types.ProvisionedThroughputExceededException{}
	for name, last := range map[string]error{
		"as received":      &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "UpdateItem", Err: throttle},
		"with its kind":    dynamo.Classify(throttle),
		"not an API error": dynamo.ErrUnsent,
		"transaction":      libtest.CanceledFor("ThrottlingError", "TransactionConflict"),
	} {
		for depth := range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			lost := false
			attempt := func(context.Context) error {
				if !lost {
					lost = true
					return &types.InternalServerError{}
				}
				cancel() // no further attempt
				return last
			}
			for range depth {
				inner := attempt
				attempt = func(ctx context.Context) error { return dynamo.Persist(ctx, inner) }
			}
			err := dynamo.Persist(ctx, attempt)
			_, api := errors.AsType[smithy.APIError](err)
			if !errors.Is(err, shard.ErrUnavailable) || errors.Is(err, shard.ErrThrottled) || dynamo.ThrottleScope(err) != dynamo.NotThrottled || dynamo.IsConflict(err) || api != (last != dynamo.ErrUnsent) {
				t.Errorf("%s, depth %d: %v", name, depth, err)
			}
		}
	}
}

// TestRetriesOfReadsAndSums checks which attempts follow others, and the kind of the last error.
func TestRetriesOfReadsAndSums(t *testing.T) {
	hot, lost, broken, condition := libtest.Hot(), error(libtest.LostAnswer{}), &types.InternalServerError{}, &types.ConditionalCheckFailedException{}
	for name, c := range map[string]struct {
		attempts  []error // the attempts after these succeed
		reads     int     // attempts
		readKind  error   // nil for success
		sums      int
		sumKind   error
		throttled bool // the sum's error is also a throttle
	}{
		"at once":              {nil, 1, nil, 1, nil, false},
		"throttled":            {[]error{hot, hot}, 3, nil, 3, nil, false},
		"never sent":           {[]error{unsent, unsent, unsent}, 4, nil, 4, nil, false},
		"lost once":            {[]error{lost}, 2, nil, 2, nil, false},
		"lost, then throttled": {[]error{lost, hot}, 3, nil, 3, nil, false},
		"lost twice":           {[]error{lost, hot, lost}, 4, nil, 3, shard.ErrUnavailable, false},
		"500":                  {[]error{hot, broken}, 3, nil, 2, shard.ErrUnavailable, false},
		"timed out":            {[]error{context.DeadlineExceeded}, 2, nil, 1, shard.ErrUnavailable, false},
		"condition":            {[]error{hot, condition}, 2, condition, 2, condition, false},
		"always throttled":     {slices.Repeat([]error{hot}, 12), 12, shard.ErrThrottled, 12, shard.ErrThrottled, true},
		"not sent, throttled":  {append(slices.Repeat([]error{hot}, 11), unsent, hot)[1:], 12, shard.ErrThrottled, 12, shard.ErrThrottled, true},
		"lost, throttled":      {append([]error{lost}, slices.Repeat([]error{hot}, 11)...), 12, shard.ErrUnavailable, 12, shard.ErrUnavailable, false},
	} {
		for isSum, persist := range []func(context.Context, func(context.Context) error) error{dynamo.Persist, dynamo.PersistSum} {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				err := persist(t.Context(), func(context.Context) error {
					if n++; n > len(c.attempts) {
						return nil
					}
					return c.attempts[n-1]
				})
				want, kind := c.reads, c.readKind
				if isSum == 1 {
					want, kind = c.sums, c.sumKind
				}
				if n != want || !errors.Is(err, kind) || (err == nil) != (kind == nil) || errors.Is(err, shard.ErrThrottled) != c.throttled {
					t.Errorf("%s, sum %d: %d attempts, %v; want %d, %v", name, isSum, n, err, want, kind)
				}
			})
		}
	}
}

// TestNoAttemptStartsShortlyBeforeTheDeadline checks the time that is reserved, and that attempts keep to it.
func TestNoAttemptStartsShortlyBeforeTheDeadline(t *testing.T) {
	for _, c := range []struct{ deadline, startBy time.Duration }{
		{0, time.Minute}, // no deadline
		{10 * time.Second, 9500 * time.Millisecond},
		{2 * time.Second, 1500 * time.Millisecond},
		{time.Second, 750 * time.Millisecond},
		{100 * time.Millisecond, 75 * time.Millisecond},
		{-time.Second, time.Nanosecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, begun := t.Context(), time.Now()
			if c.deadline != 0 {
				bounded, cancel := context.WithTimeout(ctx, c.deadline)
				defer cancel()
				ctx = bounded
			}
			if got := dynamo.StartBy(ctx).Sub(begun); got != c.startBy {
				t.Errorf("%v: attempts may start for %v, want %v", c.deadline, got, c.startBy)
			}
			err := dynamo.Persist(ctx, func(context.Context) error {
				if after := time.Since(begun); after > max(0, c.startBy) {
					t.Errorf("%v: an attempt starts after %v", c.deadline, after)
				}
				return libtest.Hot()
			})
			if took := time.Since(begun); !errors.Is(err, shard.ErrThrottled) || took > c.startBy {
				t.Errorf("%v: took %v, %v", c.deadline, took, err)
			}
		})
	}
}

// TestPauses checks that the pauses between attempts double from 25 ms to 1 s, each within a half.
func TestPauses(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			begun, mean, n := time.Now(), 25*time.Millisecond, 0
			_ = dynamo.Persist(t.Context(), func(context.Context) error {
				if n++; n > 1 {
					if pause := time.Since(begun); pause < mean/2 || pause > mean*3/2 {
						t.Errorf("pause %d of %v, want %v to %v", n-1, pause, mean/2, mean*3/2)
					}
					mean = min(2*mean, time.Second)
				}
				begun = time.Now()
				return libtest.Hot()
			})
		})
	}
}

// TestWorthRetrying checks that a timeout is retried only if it is the attempt's own.
func TestWorthRetrying(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		want bool
	}{
		{t.Context(), context.DeadlineExceeded, true},
		{ended, context.DeadlineExceeded, false},
		{ended, libtest.Hot(), true},
		{t.Context(), nil, false},
	} {
		if got := dynamo.WorthRetrying(c.ctx, c.err); got != c.want {
			t.Errorf("%v, context %v: %t", c.err, c.ctx.Err(), got)
		}
	}
}

// TestClock checks that a call's clock starts at the given time and runs, and that a pause ends with its context.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
		clock := dynamo.StartClock(given)
		if !dynamo.Pause(t.Context(), time.Second) || clock.Now() != given.Add(time.Second) {
			t.Errorf("%v after a second", clock.Now())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if dynamo.Pause(ctx, time.Hour) || clock.Now() != given.Add(2*time.Second) {
			t.Errorf("%v after a pause whose context ended", clock.Now())
		}
		if err := dynamo.CheckNow(given); err != nil || !errors.Is(dynamo.CheckNow(time.Time{}), shard.ErrMisused) {
			t.Errorf("%v; the zero time: %v", err, dynamo.CheckNow(time.Time{}))
		}
	})
}

// TestUpdateGuarded checks a conditional update with scripted results.
func TestUpdateGuarded(t *testing.T) {
	stored := dynamo.Key("p", "s")
	condition, conflict, other := &types.ConditionalCheckFailedException{Item: stored}, &types.TransactionConflictException{}, errors.New("other")
	for name, c := range map[string]struct {
		updates         []error
		nextErr         error
		rejectErr       error
		calls, rejected int
		want            error
	}{
		"done":                     {nil, nil, nil, 1, 0, nil},
		"condition":                {[]error{condition}, nil, nil, 2, 1, nil},
		"conflict":                 {[]error{conflict, conflict}, nil, nil, 3, 0, nil},
		"other":                    {[]error{other}, nil, nil, 1, 0, other},
		"too many":                 {[]error{condition, conflict, condition, condition}, nil, nil, 3, 2, dynamo.ErrOutrun},
		"nothing to do":            {nil, nil, nil, 1, 0, nil},
		"next fails":               {nil, other, nil, 1, 0, other},
		"rejected is rejected too": {[]error{condition}, nil, other, 1, 1, other},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, calls, rejected, begun := &libtest.Scripted{Updates: c.updates}, 0, 0, time.Now()
			err := dynamo.UpdateGuarded(t.Context(), client, 3, func() (*dynamodb.UpdateItemInput, error) {
				if calls++; name == "nothing to do" {
					return nil, nil
				}
				return &dynamodb.UpdateItemInput{}, c.nextErr
			}, func(it dynamo.Item) error {
				if rejected++; it == nil {
					t.Errorf("%s: rejected with no item", name)
				}
				return c.rejectErr
			})
			if calls != c.calls || rejected != c.rejected || !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%s: %d calls, %d rejected, %v", name, calls, rejected, err)
			}
			if paused := time.Since(begun) > 0; paused != slices.Contains(c.updates, error(conflict)) {
				t.Errorf("%s: took %v", name, time.Since(begun))
			}
		})
	}
}

// TestRepeatConflicts checks after which errors an attempt is made again.
func TestRepeatConflicts(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		late     bool
		attempts int
	}{
		"applied": {nil, false, 1}, "throttled": {&types.ProvisionedThroughputExceededException{}, false, 1}, "invalid": {shard.ErrMisused, false, 1},
		"in conflict": {dynamo.ErrOutrun, false, 8}, "in conflict, late": {dynamo.ErrOutrun, true, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			n, startBy := 0, time.Now().Add(time.Hour)
			if c.late {
				startBy = time.Now().Add(-1)
			}
			err := dynamo.RepeatConflicts(t.Context(), startBy, func(context.Context) error { n++; return c.err })
			if n != c.attempts || !errors.Is(err, c.err) {
				t.Errorf("%s: %d attempts, %v; want %d", name, n, err, c.attempts)
			}
		})
	}
}

// TestNoRetry checks that the SDK makes one attempt.
func TestNoRetry(t *testing.T) {
	var o dynamodb.Options
	dynamo.NoRetry(&o)
	if _, is := o.Retryer.(aws.NopRetryer); !is {
		t.Errorf("%T", o.Retryer)
	}
}
