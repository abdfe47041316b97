package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// writeBatch puts items with BatchWriteItem, 25 per request, in parallel. Of several items with the same key it writes
// the last, and all get the outcome of that write.
type writeBatch struct {
	*Writer
	clock dynamo.Clock
	call  observe.Call
	items []*batchItem
	byKey map[string]*batchItem // by primary key, before any move
}

// batchItem is an item of a batch.
type batchItem struct {
	event   Event
	item    dynamo.Item
	attempt shard.Attempt // what observers receive
	indices []int         // of the item's events in the caller's list
	// keepsShard means that the item must not move to another write shard, where it might be stored twice.
	keepsShard bool
}

func newWriteBatch(w *Writer, now time.Time) *writeBatch {
	return &writeBatch{Writer: w, clock: dynamo.StartClock(now), call: observe.Begin(w.observer), byKey: map[string]*batchItem{}}
}

// addWrite adds the put of an event to the batch; index is the event's index in the caller's list.
func (b *writeBatch) addWrite(ev Event, w shardmap.Write, index int) {
	key := keyText(w.Action.Put.Item)
	it := b.byKey[key]
	if it == nil {
		it = &batchItem{}
		b.byKey[key], b.items = it, append(b.items, it)
	}
	it.event, it.item, it.attempt = ev, w.Action.Put.Item, w.Attempt
	it.keepsShard = it.keepsShard || !ev.New
	it.indices = append(it.indices, index)
}

// keyText returns an item's primary key as one text.
func keyText(it dynamo.Item) string {
	return dynamo.Text(it, schema.PK) + "\x00" + dynamo.Text(it, schema.SK)
}

// write puts all items, and sets the error of each failed event in outcomes, which has an element for each event of the
// caller's list.
func (b *writeBatch) write(ctx context.Context, outcomes []error) {
	attempts := make([]shard.Attempt, len(b.items))
	for i, it := range b.items {
		attempts[i] = it.attempt
	}
	observe.SumItems(attempts)
	for i, it := range b.items {
		it.attempt.Items = attempts[i].Items
	}
	var group errgroup.Group
	group.SetLimit(dynamo.MaxParallel)
	for chunk := range slices.Chunk(b.items, dynamo.MaxBatchWrite) {
		group.Go(func() error {
			left, err := b.putItems(ctx, chunk)
			for _, it := range left {
				for _, index := range it.indices {
					outcomes[index] = err
				}
			}
			return nil
		})
	}
	_ = group.Wait() // errors are per item
}

// putItems writes up to 25 items. It returns the items that it could not write, and their common error; nil for none.
func (b *writeBatch) putItems(ctx context.Context, items []*batchItem) (left []*batchItem, err error) {
	left = items
	isRetry := false
	err = dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		for _, it := range left {
			if isRetry && !it.keepsShard {
				b.move(ctx, it)
			}
		}
		isRetry = true
		left, err = b.attempt(ctx, left)
		return err
	})
	if err != nil {
		return left, fmt.Errorf("writing %d events, the first %q of %q: %w", len(left), left[0].event.ID, left[0].event.Entity, err)
	}
	return nil, nil
}

// move moves a throttled new item to the write shard that follows from the current count. If the count can't be read,
// the item stays on its write shard.
func (b *writeBatch) move(ctx context.Context, it *batchItem) {
	if w, err := b.PutTransact(ctx, it.event, b.clock.Now()); err == nil {
		w.Attempt.Items = it.attempt.Items
		it.item, it.attempt = w.Action.Put.Item, w.Attempt
	}
}

// attempt makes one attempt to write items. With an error, left has the items that were not written. A single item is
// written with PutItem, whose throttles have a reason.
func (b *writeBatch) attempt(ctx context.Context, items []*batchItem) (left []*batchItem, err error) {
	if len(items) == 1 {
		return items, b.putItem(ctx, items[0])
	}
	requests := make([]types.WriteRequest, len(items))
	for i, it := range items {
		requests[i].PutRequest = &types.PutRequest{Item: it.item}
	}
	out, err := b.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{b.table: requests},
	}, dynamo.NoRetry)
	if err != nil {
		return b.writeSingly(ctx, items, err)
	}
	unprocessed := map[string]bool{}
	for _, r := range dynamo.OnlyTable(out.UnprocessedItems) {
		unprocessed[keyText(r.PutRequest.Item)] = true
	}
	for _, it := range items {
		if !unprocessed[keyText(it.item)] {
			b.call.Observe(ctx, it.attempt, nil)
			continue
		}
		it.keepsShard = true // DynamoDB may have written the item before an internal failure
		left = append(left, it)
	}
	if len(left) > 0 {
		return b.writeSingly(ctx, left, fmt.Errorf("%w: %d of %d items were left unprocessed", shard.ErrThrottled, len(left), len(items)))
	}
	return nil, nil
}

// maxSingles bounds the items that are written singly after a batch was throttled.
const maxSingles = 4

// writeSingly goes on after the error batchErr of a batch, which does not say why items are unprocessed. After a
// throttle it puts one item of each partition, for up to maxSingles partitions. If a put is throttled, the partition's
// other items are observed as throttled, too. The batch and the put are observed as one attempt of each item. left are
// the items not written; if there are any, err is batchErr, or the error of a put with an unknown outcome.
func (b *writeBatch) writeSingly(ctx context.Context, items []*batchItem, batchErr error) (left []*batchItem, err error) {
	if !dynamo.IsThrottle(batchErr) && !errors.Is(batchErr, shard.ErrThrottled) {
		for _, it := range items {
			it.keepsShard = true // the batch may have written the item
			b.call.ObserveAs(ctx, it.attempt, shard.Inconclusive)
		}
		return items, batchErr
	}
	results := map[string]error{} // of single writes, by partition key
	var unknown error             // of a single write that may have been applied
	mayGetCapacity := false       // the key of an item that is left may get capacity soon
	for _, it := range items {
		pk := dynamo.Text(it.item, schema.PK)
		result, tried := results[pk]
		switch {
		case !tried && len(results) < maxSingles:
			result = b.putItem(ctx, it)
			results[pk] = result
			if result == nil {
				continue
			}
			isUnwritten := dynamo.IsThrottle(result) || dynamo.IsConflict(result)
			if !isUnwritten {
				unknown = result
			}
		case dynamo.IsThrottle(result):
			b.call.Observe(ctx, it.attempt, result)
		default:
			b.call.ObserveAs(ctx, it.attempt, shard.Inconclusive)
		}
		left = append(left, it)
		mayGetCapacity = mayGetCapacity || !dynamo.IsFinal(result)
	}
	switch {
	case unknown != nil:
		return left, unknown
	case len(left) == 0:
		return nil, nil
	case !mayGetCapacity:
		return left, dynamo.Final(batchErr)
	}
	return left, batchErr
}
