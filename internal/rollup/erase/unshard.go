package erase

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/internal/rollup/attribute"
)

// unshard has all processes go by one write shard, and waits until no request can go
// by anything else. It returns what the shard map has of the key then: how many write
// shards there ever were, and no version for a key that it never had.
func (t *task) unshard(ctx context.Context) (entry shardmap.Entry, err error) {
	err = t.insist(ctx, func() (err error) {
		entry, err = t.changer.Reset(ctx, t.base.String(), t.o.Now())
		return err
	})
	if err != nil {
		return entry, err
	}
	if left := t.o.Settle - t.o.Now().Sub(entry.Updated); entry.Version > 0 && left > 0 {
		return entry, pause(ctx, min(left, t.o.Settle))
	}
	return entry, nil
}

// forget takes the key out of the shard map.
func (t *task) forget(ctx context.Context) error {
	gone := false
	err := t.insist(ctx, func() error {
		err := t.changer.Forget(ctx, t.base.String(), t.o.Now())
		gone = gone || err == nil
		return err
	})
	if errors.Is(err, shardmap.ErrInUse) {
		t.kept("its shard count, set again meanwhile")
		return nil
	}
	if gone {
		t.deleted(ShardCounts, 1)
	}
	return err
}

// insistence bounds the attempts at a change of the shard map, each of which has to
// be made within a second.
const insistence = 20

// insist makes a change of the shard map; that there is nothing to change is none.
func (t *task) insist(ctx context.Context, change func() error) (err error) {
	for range insistence {
		err = change()
		switch {
		case err == nil, errors.Is(err, shardmap.ErrNoChange):
			return nil
		case ctx.Err() != nil, !errors.Is(err, shard.ErrUnavailable) && !errors.Is(err, shard.ErrThrottled):
			return err
		}
		if err := pause(ctx, t.o.Poll); err != nil {
			return err
		}
	}
	return err
}

// remove deletes an item, within the rate, and returns what it was; nil if there was none.
func (e *Eraser) remove(ctx context.Context, table, pk, sk string) (item, error) {
	out, err := e.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &table, Key: attribute.Key(pk, sk), ReturnValues: types.ReturnValueAllOld,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return nil, fmt.Errorf("deleting the item %q, %q: %w", pk, sk, err)
	}
	return out.Attributes, e.writes.Spend(ctx, out.ConsumedCapacity)
}
