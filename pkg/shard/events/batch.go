package events

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// writeBatch puts items with BatchWriteItem, 25 a call, in parallel. Of several
// items with one key the last is written, and they share its outcome.
type writeBatch struct {
	client WriterClient
	table  string
	watch  shardmap.Watcher
	items  []dynamo.Item
	owners [][]int            // for each item, the places in the caller's list
	sent   []shardmap.Attempt // for each item, what is told of an attempt
	index  map[string]int
}

func newWriteBatch(client WriterClient, table string, watch shardmap.Watcher) *writeBatch {
	return &writeBatch{client: client, table: table, watch: watch, index: map[string]int{}}
}

// add takes an item, and what is to be told of an attempt to write it.
func (b *writeBatch) add(it dynamo.Item, place int, sent shardmap.Attempt) {
	key := nameOf(it)
	at, again := b.index[key]
	if !again {
		at = len(b.items)
		b.index[key] = at
		b.items, b.owners, b.sent = append(b.items, nil), append(b.owners, nil), append(b.sent, shardmap.Attempt{})
	}
	b.items[at], b.sent[at] = it, sent
	b.owners[at] = append(b.owners[at], place)
}

func nameOf(it dynamo.Item) string {
	return dynamo.Text(it, schema.PK) + "\x00" + dynamo.Text(it, schema.SK)
}

// request tells the watcher what the call writes.
func (b *writeBatch) request() {
	asked := watching.Requests{}
	for i, it := range b.items {
		asked.Add(b.sent[i].Key, watching.Hash(dynamo.Text(it, schema.SK)), b.sent[i].At)
	}
	for i := range b.sent {
		b.sent[i].Request = asked[b.sent[i].Key].ID
	}
	asked.Tell(b.watch)
}

// write puts all items and sets the outcome of each at its owners' places.
func (b *writeBatch) write(ctx context.Context, outcomes []error) {
	b.request()
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

// put writes up to 25 items and returns those it could not, with the reason.
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

// attempt makes one call, and returns the items that were not taken with the
// reason. A single item goes out as PutItem, whose throttles name their reason.
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
		return b.learn(ctx, items, err)
	}
	var left []dynamo.Item
	for _, r := range out.UnprocessedItems[b.table] {
		left = append(left, r.PutRequest.Item)
	}
	for _, it := range items {
		if !slices.ContainsFunc(left, sameKey(it)) {
			b.tell(ctx, it, nil)
		}
	}
	if len(left) > 0 {
		return b.learn(ctx, left, fmt.Errorf("%w: %d of %d items were not taken", shard.ErrThrottled, len(left), len(items)))
	}
	return nil, nil
}

func (b *writeBatch) single(ctx context.Context, it dynamo.Item) error {
	_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &b.table, Item: it}, dynamo.NoRetry)
	b.tell(ctx, it, err)
	return err
}

// tell tells the watcher what became of an event's item.
func (b *writeBatch) tell(ctx context.Context, it dynamo.Item, err error) {
	watching.Tell(ctx, b.watch, b.sent[b.index[nameOf(it)]], err, dynamo.KeyRange)
}

// maxLessons bounds the items written singly after a batch was throttled.
const maxLessons = 4

// learn writes one item of each partition singly, since a batch does not say why
// items were not taken: what that meets, the others of the partition have met. It returns
// what is left then.
func (b *writeBatch) learn(ctx context.Context, items []dynamo.Item, reason error) ([]dynamo.Item, error) {
	if !dynamo.IsThrottle(reason) && !errors.Is(reason, shard.ErrThrottled) {
		return items, reason
	}
	lessons := map[string]error{}
	var lost error // of a single write, which may have been applied
	left := slices.DeleteFunc(slices.Clone(items), func(it dynamo.Item) bool {
		pk := dynamo.Text(it, schema.PK)
		if met, asked := lessons[pk]; asked || len(lessons) == maxLessons {
			if dynamo.IsThrottle(met) {
				b.tell(ctx, it, met)
			}
			return false
		}
		err := b.single(ctx, it)
		lessons[pk] = err
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
