package ddb

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// DynamoDB's bounds of a batch, and ours of the batches under way for one call.
const (
	maxBatchGet   = 100
	maxBatchWrite = 25
	maxParallel   = 16
)

type item = map[string]types.AttributeValue

// batchGet reads the items of these keys that exist, in no order, in parallel.
func batchGet(ctx context.Context, client BatchGetter, table string, keys []item, consistent bool) ([]item, error) {
	parts := slices.Collect(slices.Chunk(keys, maxBatchGet))
	found := make([][]item, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for i, part := range parts {
		group.Go(func() (err error) {
			found[i], err = batchGetPart(ctx, client, table, types.KeysAndAttributes{Keys: part, ConsistentRead: &consistent})
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

func batchGetPart(ctx context.Context, client BatchGetter, table string, left types.KeysAndAttributes) ([]item, error) {
	var found []item
	err := persist(ctx, func(ctx context.Context) error {
		out, err := client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
			RequestItems: map[string]types.KeysAndAttributes{table: left},
		}, once)
		if err != nil {
			return err
		}
		found = append(found, out.Responses[table]...)
		if left = out.UnprocessedKeys[table]; len(left.Keys) > 0 {
			return fmt.Errorf("%w: %d keys were not read", ErrThrottled, len(left.Keys))
		}
		return nil
	})
	return found, err
}
