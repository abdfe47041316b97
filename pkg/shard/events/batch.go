package events

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// writeBatch puts items with BatchWriteItem, 25 per call, in parallel. If several items have one
// key, it writes the last, and all share its outcome.
type writeBatch struct {
	client   WriterClient
	table    string
	call     observe.Call
	items    []dynamo.Item
	indices  [][]int         // for each item, the indices of its events in the caller's list
	attempts []shard.Attempt // for each item, the attempt that observers receive
	byKey    map[string]int  // index in items, by primary key
}

func newWriteBatch(client WriterClient, table string, o shard.Observer) *writeBatch {
	return &writeBatch{client: client, table: table, call: observe.Begin(o), byKey: map[string]int{}}
}

// addWrite adds the put of an event to the batch; index is the event's in the caller's list.
func (b *writeBatch) addWrite(w shardmap.Write, index int) {
	it := w.Action.Put.Item
	key := keyText(it)
	at, known := b.byKey[key]
	if !known {
		at = len(b.items)
		b.byKey[key] = at
		b.items, b.indices, b.attempts = append(b.items, nil), append(b.indices, nil), append(b.attempts, shard.Attempt{})
	}
	b.items[at], b.attempts[at] = it, w.Attempt
	b.indices[at] = append(b.indices[at], index)
}

// keyText returns an item's primary key as one text.
func keyText(it dynamo.Item) string {
	return dynamo.Text(it, schema.PK) + "\x00" + dynamo.Text(it, schema.SK)
}

// write puts all items, and sets the error of each failed event in outcomes.
func (b *writeBatch) write(ctx context.Context, outcomes []error) {
	observe.SumItems(b.attempts)
	var group errgroup.Group
	group.SetLimit(dynamo.MaxParallel)
	for first := 0; first < len(b.items); first += dynamo.MaxBatchWrite {
		last := min(first+dynamo.MaxBatchWrite, len(b.items))
		group.Go(func() error {
			left, err := b.putItems(ctx, b.items[first:last])
			for i := first; i < last; i++ {
				if err == nil || !slices.ContainsFunc(left, sameKey(b.items[i])) {
					continue
				}
				for _, index := range b.indices[i] {
					outcomes[index] = err
				}
			}
			return nil
		})
	}
	_ = group.Wait() // errors are per item
}

// putItems writes up to 25 items, and returns those that failed with the error.
func (b *writeBatch) putItems(ctx context.Context, left []dynamo.Item) ([]dynamo.Item, error) {
	err := dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		left, err = b.attempt(ctx, left)
		return err
	})
	if err != nil {
		return left, fmt.Errorf("writing events: %w", err)
	}
	return nil, nil
}

// attempt makes one call, and returns the unprocessed items with the error. It writes a single item with
// PutItem, whose throttles have a reason.
func (b *writeBatch) attempt(ctx context.Context, items []dynamo.Item) ([]dynamo.Item, error) {
	if len(items) == 1 {
		return items, b.putItem(ctx, items[0])
	}
	requests := make([]types.WriteRequest, len(items))
	for i, it := range items {
		requests[i].PutRequest = &types.PutRequest{Item: it}
	}
	out, err := b.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{b.table: requests},
	}, dynamo.NoRetry)
	if err != nil {
		return b.writeSingly(ctx, items, err)
	}
	var left []dynamo.Item
	for _, r := range out.UnprocessedItems[b.table] {
		left = append(left, r.PutRequest.Item)
	}
	for _, it := range items {
		if !slices.ContainsFunc(left, sameKey(it)) {
			b.call.Observe(ctx, b.attemptOf(it), nil)
		}
	}
	if len(left) > 0 {
		return b.writeSingly(ctx, left, fmt.Errorf("%w: %d of %d items were left unprocessed", shard.ErrThrottled, len(left), len(items)))
	}
	return nil, nil
}

// attemptOf returns the attempt that observers receive of a write of an item.
func (b *writeBatch) attemptOf(it dynamo.Item) shard.Attempt { return b.attempts[b.byKey[keyText(it)]] }

// maxSingles bounds the items written singly after a batch was throttled.
const maxSingles = 4

// writeSingly writes one item of each partition with PutItem, since a batch does not say why items are
// unprocessed. If that is throttled, the partition's other items are observed as throttled, too. The
// batch and the single write are observed as one attempt of each item. It returns the items that are
// left, and batchErr or the error of a single write with an unknown outcome.
func (b *writeBatch) writeSingly(ctx context.Context, items []dynamo.Item, batchErr error) ([]dynamo.Item, error) {
	if !dynamo.IsThrottle(batchErr) && !errors.Is(batchErr, shard.ErrThrottled) {
		for _, it := range items {
			b.call.ObserveAs(ctx, b.attemptOf(it), shard.Inconclusive)
		}
		return items, batchErr
	}
	results := map[string]error{} // of single writes, by partition key
	var unknown error             // of a single write that may have been applied
	left := slices.DeleteFunc(slices.Clone(items), func(it dynamo.Item) bool {
		pk := dynamo.Text(it, schema.PK)
		if result, tried := results[pk]; tried || len(results) == maxSingles {
			if dynamo.IsThrottle(result) {
				b.call.Observe(ctx, b.attemptOf(it), result)
			} else {
				b.call.ObserveAs(ctx, b.attemptOf(it), shard.Inconclusive)
			}
			return false
		}
		err := b.putItem(ctx, it)
		results[pk] = err
		if err != nil && !dynamo.IsThrottle(err) && !dynamo.IsConflict(err) { // after those two, nothing was written
			unknown = err
		}
		return err == nil
	})
	if unknown != nil {
		return left, unknown
	}
	if len(left) == 0 {
		return nil, nil
	}
	return left, batchErr
}

func sameKey(a dynamo.Item) func(dynamo.Item) bool {
	return func(b dynamo.Item) bool { return keyText(a) == keyText(b) }
}
