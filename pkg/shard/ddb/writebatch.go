package ddb

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// writeBatch puts items with BatchWriteItem, 25 a call, in parallel. Of several
// items with one key the last is written, and they share its outcome.
type writeBatch struct {
	client EventClient
	table  string
	items  []item
	owners [][]int // for each item, the places in the caller's list
	index  map[string]int
}

func newWriteBatch(client EventClient, table string) *writeBatch {
	return &writeBatch{client: client, table: table, index: map[string]int{}}
}

func (b *writeBatch) add(it item, place int) {
	key := text(it, "pk") + "\x00" + text(it, "sk")
	at, again := b.index[key]
	if !again {
		at = len(b.items)
		b.index[key] = at
		b.items, b.owners = append(b.items, nil), append(b.owners, nil)
	}
	b.items[at] = it
	b.owners[at] = append(b.owners[at], place)
}

// write puts all items and sets the outcome of each at its owners' places.
func (b *writeBatch) write(ctx context.Context, outcomes []error) {
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for first := 0; first < len(b.items); first += maxBatchWrite {
		last := min(first+maxBatchWrite, len(b.items))
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
func (b *writeBatch) put(ctx context.Context, left []item) ([]item, error) {
	err := persist(ctx, func(ctx context.Context) (err error) {
		left, err = b.attempt(ctx, left)
		return err
	})
	if err != nil {
		return left, fmt.Errorf("writing events: %w", err)
	}
	return nil, nil
}

// attempt makes one call. A single item goes out as PutItem, whose throttles
// name their reason, which those of a batch don't.
func (b *writeBatch) attempt(ctx context.Context, items []item) ([]item, error) {
	if len(items) == 1 {
		_, err := b.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &b.table, Item: items[0]}, once)
		return items, err
	}
	requests := make([]types.WriteRequest, len(items))
	for i, it := range items {
		requests[i].PutRequest = &types.PutRequest{Item: it}
	}
	out, err := b.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{b.table: requests},
	}, once)
	if err != nil {
		return items, err
	}
	var left []item
	for _, r := range out.UnprocessedItems[b.table] {
		left = append(left, r.PutRequest.Item)
	}
	if len(left) > 0 {
		return left, fmt.Errorf("%w: %d of %d items were not taken", ErrThrottled, len(left), len(items))
	}
	return nil, nil
}

func sameKey(a item) func(item) bool {
	return func(b item) bool { return text(a, "pk") == text(b, "pk") && text(a, "sk") == text(b, "sk") }
}
