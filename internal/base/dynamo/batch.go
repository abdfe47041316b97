package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// DynamoDB's bounds of a batch, and hotshard's bound of concurrent batches per call.
const (
	MaxBatchGet   = 100
	MaxBatchWrite = 25
	MaxParallel   = 16
)

// BatchGet returns the items of these keys that exist, in no order. It reads in parallel.
func BatchGet(ctx context.Context, db client.BatchGetter, table string, keys []Item, consistent bool) ([]Item, error) {
	parts := slices.Collect(slices.Chunk(keys, MaxBatchGet))
	found := make([][]Item, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxParallel)
	for i, part := range parts {
		group.Go(func() (err error) {
			found[i], err = batchGetPart(ctx, db, table, types.KeysAndAttributes{Keys: part, ConsistentRead: &consistent})
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

// batchGetPart reads one batch. An attempt that reads none of the remaining keys counts as throttled.
// After a partial result the read continues until the deadline.
func batchGetPart(ctx context.Context, db client.BatchGetter, table string, left types.KeysAndAttributes) (found []Item, err error) {
	notRead := func() error { return fmt.Errorf("%w: %d keys were not read", shard.ErrThrottled, len(left.Keys)) }
	_, bounded := ctx.Deadline()
	startBy := StartBy(ctx)
	for {
		err = Persist(ctx, func(ctx context.Context) error {
			asked := len(left.Keys)
			out, err := db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems: map[string]types.KeysAndAttributes{table: left},
			}, NoRetry)
			if err != nil {
				return err
			}
			found = append(found, OfOneTable(out.Responses)...)
			left = OfOneTable(out.UnprocessedKeys)
			if len(left.Keys) == asked {
				return notRead()
			}
			return nil
		})
		if err != nil || len(left.Keys) == 0 {
			return found, err
		}
		if bounded && time.Now().After(startBy) || !Pause(ctx, jittered().NextBackOff()) {
			return found, fmt.Errorf("%w: %w", notRead(), cmp.Or(ctx.Err(), context.DeadlineExceeded))
		}
	}
}

// OfOneTable returns the only value of a batch's response, the zero value if there is none. An engine may answer a request
// by a table's ARN with the table's name.
func OfOneTable[V any](byTable map[string]V) (only V) {
	for _, only = range byTable {
		break
	}
	return only
}

// MaxActions is the limit of a transaction's actions, less one for the marker of [once.Applier].
const MaxActions = 99
