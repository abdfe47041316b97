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

// writeBatch puts items with BatchWriteItem, 25 per call, in parallel. Of several items with one
// key the last is written, and all share its outcome.
type writeBatch struct {
	client WriterClient
	table  string
	call   observe.Call
	items  []dynamo.Item
	owners [][]int         // for each item, its indices in the caller's list
	sent   []shard.Attempt // for each item, its attempts
	index  map[string]int
}

func newWriteBatch(client WriterClient, table string, o shard.Observer) *writeBatch {
	return &writeBatch{client: client, table: table, call: observe.Begin(o), index: map[string]int{}}
}

// addWrite adds the put of an event to the batch; place is its index in the caller's list.
func (b *writeBatch) addWrite(w shardmap.Write, place int) {
	it := w.Action.Put.Item
	key := nameOf(it)
	at, again := b.index[key]
	if !again {
		at = len(b.items)
		b.index[key] = at
		b.items, b.owners, b.sent = append(b.items, nil), append(b.owners, nil), append(b.sent, shard.Attempt{})
	}
	b.items[at], b.sent[at] = it, w.Attempt
	b.owners[at] = append(b.owners[at], place)
}

func nameOf(it dynamo.Item) string {
	return dynamo.Text(it, schema.PK) + "\x00" + dynamo.Text(it, schema.SK)
}

// write puts all items and sets the outcome of each in outcomes, at its owners' indices.
func (b *writeBatch) write(ctx context.Context, outcomes []error) {
	observe.SumItems(b.sent)
	var group errgroup.Group
	group.SetLimit(dynamo.MaxParallel)
	for first := 0; first < len(b.items); first += dynamo.MaxBatchWrite {
		last := min(first+dynamo.MaxBatchWrite, len(b.items))
		group.Go(func() error {
			left, err := b.put(ctx, b.items[first:last])
			for i := first; i < last; i++ {
				if err == nil || !slices.ContainsFunc(left, sameKey(b.items[i])) {
					continue
				}
				for _, place := range b.owners[i] {
					outcomes[place] = err
				}
			}
			return nil
		})
	}
	_ = group.Wait() // errors are per item
}

// put writes up to 25 items and returns those that failed, with the reason.
func (b *writeBatch) put(ctx context.Context, left []dynamo.Item) ([]dynamo.Item, error) {
	err := dynamo.Persist(ctx, func(ctx context.Context) (err error) {
		left, err = b.attempt(ctx, left)
		return err
	})
	if err != nil {
		return left, fmt.Errorf("writing events: %w", err)
	}
	return nil, nil
}

// attempt makes one call, and returns the unprocessed items with the reason. It writes a single
// item with PutItem, whose throttles name their reason.
func (b *writeBatch) attempt(ctx context.Context, items []dynamo.Item) ([]dynamo.Item, error) {
	if len(items) == 1 {
		return items, b.single(ctx, items[0])
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
			b.observe(ctx, it, nil)
		}
	}
	if len(left) > 0 {
		return b.writeSingly(ctx, left, fmt.Errorf("%w: %d of %d items were left unprocessed", shard.ErrThrottled, len(left), len(items)))
	}
	return nil, nil
}

func (b *writeBatch) single(ctx context.Context, it dynamo.Item) error {
	_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &b.table, Item: it}, dynamo.NoRetry)
	b.observe(ctx, it, err)
	return err
}

// observe reports an attempt to write an event's item.
func (b *writeBatch) observe(ctx context.Context, it dynamo.Item, err error) {
	b.call.Observe(ctx, b.sent[b.index[nameOf(it)]], err)
}

func (b *writeBatch) observeAs(ctx context.Context, it dynamo.Item, o shard.Outcome) {
	b.call.ObserveAs(ctx, b.sent[b.index[nameOf(it)]], o)
}

// maxSingles bounds the items written singly after a batch was throttled.
const maxSingles = 4

// writeSingly writes one item of each partition singly, since a batch does not say why items are
// unprocessed. The result stands for the partition's other items. Together with the batch it is
// observed as one attempt of each item. It returns the items that are left.
func (b *writeBatch) writeSingly(ctx context.Context, items []dynamo.Item, reason error) ([]dynamo.Item, error) {
	if !dynamo.IsThrottle(reason) && !errors.Is(reason, shard.ErrThrottled) {
		for _, it := range items {
			b.observeAs(ctx, it, shard.Inconclusive)
		}
		return items, reason
	}
	results := map[string]error{}
	var lost error // the error of a single write that may have been applied
	left := slices.DeleteFunc(slices.Clone(items), func(it dynamo.Item) bool {
		pk := dynamo.Text(it, schema.PK)
		if met, asked := results[pk]; asked || len(results) == maxSingles {
			if dynamo.IsThrottle(met) {
				b.observe(ctx, it, met)
			} else {
				b.observeAs(ctx, it, shard.Inconclusive)
			}
			return false
		}
		err := b.single(ctx, it)
		results[pk] = err
		if err != nil && !dynamo.IsThrottle(err) && !dynamo.IsConflict(err) { // those two are known not to have been applied
			lost = err
		}
		return err == nil
	})
	if lost != nil {
		return left, lost
	}
	if len(left) == 0 {
		return nil, nil
	}
	return left, reason
}

func sameKey(a dynamo.Item) func(dynamo.Item) bool {
	return func(b dynamo.Item) bool {
		return dynamo.Text(a, schema.PK) == dynamo.Text(b, schema.PK) && dynamo.Text(a, schema.SK) == dynamo.Text(b, schema.SK)
	}
}
