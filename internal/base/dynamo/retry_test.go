package dynamo

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/pkg/shard"
)

// TestLostThenThrottled checks that a write whose first attempt has an unknown outcome, and whose last one is throttled, is
// unavailable and not throttled. The error has DynamoDB's last one, also through an inner Persist.
func TestLostThenThrottled(t *testing.T) {
	t.Parallel()
	throttle := &types.ProvisionedThroughputExceededException{}
	for name, last := range map[string]error{
		"as received":      &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "UpdateItem", Err: throttle},
		"with its kind":    Kind(throttle),
		"not an API error": ErrUnsent,
		"transaction":      &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: ptr("ThrottlingError")}, {Code: ptr("TransactionConflict")}}},
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
				attempt = func(ctx context.Context) error { return Persist(ctx, inner) }
			}
			err := Persist(ctx, attempt)
			_, api := errors.AsType[smithy.APIError](err)
			if !errors.Is(err, shard.ErrUnavailable) || errors.Is(err, shard.ErrThrottled) || ThrottleScope(err) != NotThrottled || api != (last != ErrUnsent) {
				t.Errorf("%s, depth %d: %v", name, depth, err)
			}
		}
	}
}

func ptr(s string) *string { return &s }
