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

// BatchGet returns the items of these keys that exist, in any order. It repeats batches as [Persist] does, with up to
// MaxParallel batches in flight. After an error some items may be missing.
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

// batchGetPart reads the items of up to MaxBatchGet keys. An attempt that reads none of the keys that are left counts as
// throttled. After a partial result the read continues until the deadline.
func batchGetPart(ctx context.Context, db client.BatchGetter, table string, left types.KeysAndAttributes) (found []Item, err error) {
	notReadErr := func() error {
		return fmt.Errorf("%w: %d keys of table %s were not read", shard.ErrThrottled, len(left.Keys), table)
	}
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
			found = append(found, OnlyTable(out.Responses)...)
			left = OnlyTable(out.UnprocessedKeys)
			if len(left.Keys) == asked {
				return notReadErr()
			}
			return nil
		})
		if err != nil || len(left.Keys) == 0 {
			return found, err
		}
		if bounded && time.Now().After(startBy) || !Pause(ctx, jittered().NextBackOff()) {
			return found, fmt.Errorf("%w: %w", notReadErr(), cmp.Or(ctx.Err(), context.DeadlineExceeded))
		}
	}
}

// OnlyTable returns the value of the only table in a batch's response, or the zero value if there is no table. It does not
// look up the name: an engine may respond with a table's name to a request with its ARN.
func OnlyTable[V any](byTable map[string]V) (none V) {
	for _, v := range byTable {
		return v
	}
	return none
}

// MaxActions is the number of actions that a caller's transaction may have: DynamoDB's 100 without the action for the
// marker of [once.Applier].
const MaxActions = 99
