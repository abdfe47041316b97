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

const (
	MaxBatchGet   = 100 // keys of a BatchGetItem
	MaxBatchWrite = 25  // items of a BatchWriteItem
	MaxParallel   = 16  // requests that one call of this package has in flight

	// MaxTransactActions is the most actions of a caller's transaction: DynamoDB's 100, less one for the marker of
	// [once.Applier].
	MaxTransactActions = 99
)

// BatchGet returns the items that exist under these keys, in any order. It repeats batches as [Persist] does, with up to
// MaxParallel batches in flight. With an error it returns the items that it has read.
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

// batchGetPart reads the items of up to MaxBatchGet keys. It repeats the read of keys that DynamoDB left unprocessed
// until none are left, or until shortly before ctx's deadline, if there is one.
func batchGetPart(ctx context.Context, db client.BatchGetter, table string, keys types.KeysAndAttributes) (found []Item, err error) {
	_, hasDeadline := ctx.Deadline()
	startBy := StartBy(ctx)
	for {
		items, unread, err := batchGetSome(ctx, db, table, keys)
		found = append(found, items...)
		if err != nil || len(unread.Keys) == 0 {
			return found, err
		}
		tooLate := hasDeadline && time.Now().After(startBy)
		if tooLate || !Pause(ctx, jittered().NextBackOff()) {
			return found, fmt.Errorf("%w: %w", unreadErr(table, unread), cmp.Or(ctx.Err(), context.DeadlineExceeded))
		}
		keys = unread
	}
}

// batchGetSome reads the items of some keys, and returns the keys that DynamoDB left unprocessed. An attempt that
// leaves all of them unprocessed counts as throttled.
func batchGetSome(ctx context.Context, db client.BatchGetter, table string, keys types.KeysAndAttributes) (found []Item, unread types.KeysAndAttributes, err error) {
	err = Persist(ctx, func(ctx context.Context) error {
		in := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: keys}}
		out, err := db.BatchGetItem(ctx, in, NoRetry)
		if err != nil {
			return err
		}
		found, unread = OnlyTable(out.Responses), OnlyTable(out.UnprocessedKeys)
		if len(unread.Keys) == len(keys.Keys) {
			return unreadErr(table, unread)
		}
		return nil
	})
	return found, unread, err
}

func unreadErr(table string, unread types.KeysAndAttributes) error {
	return fmt.Errorf("%w: %d keys of table %s were not read", shard.ErrThrottled, len(unread.Keys), table)
}

// OnlyTable returns the value of the only table in a batch's response, or the zero value if there is no table. It does not
// look up the name: an engine may respond with a table's name to a request with its ARN.
func OnlyTable[V any](byTable map[string]V) (none V) {
	for _, v := range byTable {
		return v
	}
	return none
}
