package ddb

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/internal/schema"
)

// TestLostThenThrottled: whoever asks hears that the write may have been made, and
// finds what DynamoDB said last; also in calls within calls.
func TestLostThenThrottled(t *testing.T) {
	t.Parallel()
	throttle := &types.ProvisionedThroughputExceededException{}
	for name, last := range map[string]error{
		"as it came":      &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "UpdateItem", Err: throttle},
		"with its kind":   Kind(throttle),
		"not an API's":    errUnsent,
		"of transactions": &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: ptr("ThrottlingError")}, {Code: ptr("TransactionConflict")}}},
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
				attempt = func(ctx context.Context) error { return persist(ctx, inner) }
			}
			err := persist(ctx, attempt)
			_, api := errors.AsType[smithy.APIError](err)
			if !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrThrottled) || ThrottleScope(err) != NotThrottled || api != (last != errUnsent) {
				t.Errorf("%s, depth %d: %v", name, depth, err)
			}
		}
	}
}

func ptr(s string) *string { return &s }

// TestExpiryOfEvents: a day's events expire all over the day that the retention ends with, and
// one that is written again that day expires at the same second.
func TestExpiryOfEvents(t *testing.T) {
	midnight := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	first := midnight.Add(24*time.Hour + 90*time.Minute)
	hours := map[int]int{}
	for i := range 24_000 {
		ev := Event{Entity: "e", ID: strconv.Itoa(i), Time: midnight.Add(time.Duration(i) * time.Second)}
		at := expiry(ev, midnight.Add(20*time.Hour), 90*time.Minute)
		if again := expiry(ev, midnight.Add(24*time.Hour-1), 90*time.Minute); !again.Equal(at) {
			t.Fatalf("%v: %v, written again %v", ev, at, again)
		}
		if at.Before(first) || !at.Before(first.Add(24*time.Hour)) || at.Add(-schema.ExpirySpread(ev.ID)) != first {
			t.Fatalf("%v: %v", ev, at)
		}
		hours[int(at.Sub(first)/time.Hour)]++
	}
	for hour := range 24 {
		if n := hours[hour]; n < 850 || n > 1150 {
			t.Errorf("%d of 24,000 expire in hour %d", n, hour)
		}
	}
	late := Event{ID: "x", Time: midnight}
	if at := expiry(late, midnight.Add(50*time.Hour), time.Hour); at.Add(-schema.ExpirySpread("x")) != midnight.Add(73*time.Hour) {
		t.Errorf("of an old event: %v", at)
	}
}

// TestNobodyWatches: a nil Watcher is Unwatched.
func TestNobodyWatches(t *testing.T) {
	m := NewMap(nil, "m")
	for name, w := range map[string]Watcher{
		"counters": NewCounterWriter(nil, "t", m, nil).watch,
		"events":   NewEventWriter(nil, "t", m, 0, nil).watch,
		"once":     NewOnce(nil, "t", nil, nil).told.watch,
		"boards":   NewLeaderboards(nil, "t", m, nil, 0).watch,
		"limits":   NewLimiter(nil, "t", m, nil, LimiterOptions{}).watch,
	} {
		if w != (Unwatched{}) {
			t.Errorf("%s: %v", name, w)
		}
	}
}
