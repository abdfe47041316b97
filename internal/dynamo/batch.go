package dynamo

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard"
)

// DynamoDB's bounds of a batch, and ours of the batches under way for one call.
const (
	maxBatchGet   = 100
	MaxBatchWrite = 25
	MaxParallel   = 16
)

// BatchGet reads the items of these keys that exist, in no order, in parallel.
func BatchGet(ctx context.Context, client BatchGetter, table string, keys []Item, consistent bool) ([]Item, error) {
	parts := slices.Collect(slices.Chunk(keys, maxBatchGet))
	found := make([][]Item, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxParallel)
	for i, part := range parts {
		group.Go(func() (err error) {
			found[i], err = batchGetPart(ctx, client, table, types.KeysAndAttributes{Keys: part, ConsistentRead: &consistent})
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

func batchGetPart(ctx context.Context, client BatchGetter, table string, left types.KeysAndAttributes) ([]Item, error) {
	var found []Item
	err := Persist(ctx, func(ctx context.Context) error {
		out, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{table: left},
		}, NoRetry)
		if err != nil {
			return err
		}
		found = append(found, out.Responses[table]...)
		if left = out.UnprocessedKeys[table]; len(left.Keys) > 0 {
			return fmt.Errorf("%w: %d keys were not read", shard.ErrThrottled, len(left.Keys))
		}
		return nil
	})
	return found, err
}

// MaxActions is what a transaction takes beside the marker of [once.Applier].
const MaxActions = 99
