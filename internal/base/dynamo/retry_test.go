package dynamo

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/hotshard/hotshard/pkg/shard"
)

// TestLostThenThrottled checks a write whose first attempt has an unknown outcome, and whose last one is throttled. It
// is unavailable and not throttled. The error has DynamoDB's last one, also through an inner Persist.
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

// lasts is a table with the LastEvaluatedKey of each page. A page has one item.
type lasts []Item

func (l lasts) page(after Item) ([]Item, Item) {
	n := slices.IndexFunc(l, func(last Item) bool { return len(last) > 0 && Text(last, "sk") == Text(after, "sk") }) + 1
	if len(after) == 0 {
		n = 0
	}
	return []Item{Key("p", string(rune('a'+n)))}, l[n]
}

func (l lasts) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	items, last := l.page(in.ExclusiveStartKey)
	return &dynamodb.QueryOutput{Items: items, LastEvaluatedKey: last}, nil
}

func (l lasts) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	items, last := l.page(in.ExclusiveStartKey)
	return &dynamodb.ScanOutput{Items: items, LastEvaluatedKey: last}, nil
}

// TestPagesEnd checks that an empty LastEvaluatedKey ends a query and a scan, as a missing one does.
func TestPagesEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]Item{"nil": nil, "empty": {}} {
		table := lasts{Key("p", "a"), Key("p", "b"), end}
		var queried, scanned []string
		for item, err := range Items(t.Context(), table, &dynamodb.QueryInput{}) {
			if queried = append(queried, Text(item, "sk")); err != nil || len(queried) > len(table) {
				t.Fatalf("%s: queried %v: %v", name, queried, err)
			}
		}
		for page, err := range ScanPages(t.Context(), table, &dynamodb.ScanInput{}) {
			if err != nil || len(scanned) >= len(table) {
				t.Fatalf("%s: scanned %v: %v", name, scanned, err)
			}
			scanned = append(scanned, Text(page.Items[0], "sk"))
		}
		if want := []string{"a", "b", "c"}; !slices.Equal(queried, want) || !slices.Equal(scanned, want) {
			t.Errorf("%s: queried %v, scanned %v, want %v", name, queried, scanned, want)
		}
	}
}
