package ddb

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// canceledOnce cancels all transactions, for the reasons of these codes.
type canceledOnce struct {
	OnceClient
	codes []string
	tries int
}

func (c *canceledOnce) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.tries++
	canceled := &types.TransactionCanceledException{}
	for _, code := range c.codes {
		canceled.CancellationReasons = append(canceled.CancellationReasons, types.CancellationReason{Code: &code})
	}
	return nil, canceled
}

// PutItem is the probe that is to tell why.
func (c *canceledOnce) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, &types.ProvisionedThroughputExceededException{}
}

// TestAThrottledCallIsNotHurried: calls that meet are tried again at once, but not
// while there is no capacity.
func TestAThrottledCallIsNotHurried(t *testing.T) {
	for name, c := range map[string]struct {
		codes   []string
		hurried bool
		kind    error
	}{
		"throttled":                {[]string{"ThrottlingError", "None", "None"}, false, ErrThrottled},
		"throttled and in the way": {[]string{"ThrottlingError", "TransactionConflict", "None"}, false, ErrThrottled},
		"in the way":               {[]string{"None", "TransactionConflict", "None"}, true, ErrContended},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &canceledOnce{codes: c.codes}
			w := NewCounterWriter(nil, "t", NewMap(&fakeMap{page: 10, items: map[string]item{}}, "m"), nil)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			now := time.Now()
			_, err := NewOnce(client, "t", nil, nil).Do(ctx, Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]types.TransactWriteItem, error) {
				return []types.TransactWriteItem{w.AddTransact(ctx, "a", 1, now), w.AddTransact(ctx, "b", 1, now)}, nil
			})
			if (client.tries > maxAttempts) != c.hurried || !errors.Is(err, c.kind) || errors.Is(err, ErrContended) != c.hurried {
				t.Errorf("%s: %d transactions, %v", name, client.tries, err)
			}
		})
	}
}
