package ddb

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
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

// TestNobodyWatches: a nil Watcher is Unwatched.
func TestNobodyWatches(t *testing.T) {
	m := NewMap(nil, "m")
	for name, w := range map[string]Watcher{
		"counters": NewCounterWriter(nil, "t", m, nil).watch,
		"events":   NewEventWriter(nil, "t", m, 0, nil).watch,
		"once":     NewOnce(nil, "t", nil, nil).told.watch,
		"sessions": NewSessions(nil, "t", m, nil).watch,
		"boards":   NewLeaderboards(nil, "t", m, nil, 0).watch,
		"limits":   NewLimiter(nil, "t", m, nil, LimiterOptions{}).watch,
	} {
		if w != (Unwatched{}) {
			t.Errorf("%s: %v", name, w)
		}
	}
}
