package once_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// canceling is a client that cancels all transactions with these reason codes.
type canceling struct {
	once.Client
	codes []string
	tries int
}

func (c *canceling) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.tries++
	canceled := &types.TransactionCanceledException{}
	for _, code := range c.codes {
		canceled.CancellationReasons = append(canceled.CancellationReasons, types.CancellationReason{Code: &code})
	}
	return nil, canceled
}

// PutItem is the probe for the throttle's reason.
func (c *canceling) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, &types.ProvisionedThroughputExceededException{}
}

// TestThrottledCallBacksOff checks that a call is retried at once after a conflict, and with back-off after a throttle.
func TestThrottledCallBacksOff(t *testing.T) {
	for name, c := range map[string]struct {
		codes  []string
		atOnce bool
		kind   error
	}{
		"throttled":                 {[]string{"ThrottlingError", "None", "None"}, false, shard.ErrThrottled},
		"throttled and in conflict": {[]string{"ThrottlingError", "TransactionConflict", "None"}, false, shard.ErrThrottled},
		"in conflict":               {[]string{"None", "TransactionConflict", "None"}, true, shard.ErrContended},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &canceling{codes: c.codes}
			w := counters.NewWriter(nil, "t", shardmap.New(&mapfake.Table{Page: 10, Items: map[string]dynamo.Item{}}, "m", shardmap.Options{}), counters.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			now := time.Now()
			_, err := once.New(client, "t", once.Options{}).Do(ctx, once.Call{Key: "k", Digest: []byte("d")}, now, func(ctx context.Context) ([]shardmap.Write, error) {
				return []shardmap.Write{w.AddTransact(ctx, "a", 1, now), w.AddTransact(ctx, "b", 1, now)}, nil
			})
			if (client.tries > dynamo.MaxAttempts) != c.atOnce || !errors.Is(err, c.kind) || errors.Is(err, shard.ErrContended) != c.atOnce {
				t.Errorf("%s: %d transactions, error %v; want retries at once: %t, and %v", name, client.tries, err, c.atOnce, c.kind)
			}
		})
	}
}
