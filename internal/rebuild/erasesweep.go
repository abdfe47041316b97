package rebuild

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// maxDeletes bounds the concurrent deletes.
const maxDeletes = 32

// sweep deletes all items of the key that existed when it began, and later items that it meets.
func (t *task) sweep(ctx context.Context) error {
	deletes, deleting := errgroup.WithContext(ctx)
	deletes.SetLimit(maxDeletes)
	err := t.findItems(deleting, func(what Trace, k itemKey) error {
		deletes.Go(func() error { return t.deleteItem(deleting, what, k) })
		return nil
	})
	if deleteErr := deletes.Wait(); deleteErr != nil { // this error also ended findItems
		return deleteErr
	}
	return err
}

// deleteItem deletes one item, and counts it in the report.
func (t *task) deleteItem(ctx context.Context, what Trace, k itemKey) error {
	old, err := t.remove(ctx, t.o.Names.Of(t.base.Type), k)
	if err != nil || len(old) == 0 {
		return err
	}
	t.countDeleted(what, 1)
	t.options.Progress(1)
	return t.traces.afterDelete(ctx, what, k, old)
}

// remove deletes an item at the rate of EraserOptions.WriteUnits. It returns the deleted item, or nil if there was none.
func (e *Eraser) remove(ctx context.Context, table string, k itemKey) (deleted item, err error) {
	out, err := e.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &table, Key: dynamo.Key(k.pk, k.sk), ReturnValues: types.ReturnValueAllOld,
		ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})
	if err != nil {
		return nil, fmt.Errorf("deleting the item %q, %q: %w", k.pk, k.sk, err)
	}
	return out.Attributes, e.writes.Spend(ctx, out.ConsumedCapacity)
}

// findItems calls emit, from several goroutines, for each item of the kind's table that belongs to the key. It finds all
// items that exist during the whole call: it reads tables consistently, and waits for Options.IndexLag before it reads
// an index.
//
// It queries the partitions of all write shards that the key can have, or scans the table.
func (t *task) findItems(ctx context.Context, emit func(what Trace, k itemKey) error) error {
	emitItems := func(list []item) error {
		t.options.Progress(len(list))
		for _, it := range list {
			what, ok := t.traces.classify(keyOf(it))
			if !ok {
				continue
			}
			if err := emit(what, keyOf(it)); err != nil {
				return err
			}
		}
		return nil
	}
	if t.traces.partitionQuery(0) == nil {
		return t.scanner.Table(ctx, t.o.Names.Of(t.base.Type), "pk, sk", emitItems)
	}
	if schema.TraitsOf(t.base.Type).Indexed() {
		if err := dynamo.WaitFor(ctx, t.o.IndexLag); err != nil {
			return err
		}
	}
	return concurrently(ctx, shard.MaxShards, func(ctx context.Context, n int) error {
		for page, err := range dynamo.Pages(ctx, t.client, t.traces.partitionQuery(n)) {
			if err != nil {
				return fmt.Errorf("reading write shard %d: %w", n, err)
			}
			if err := emitItems(page.Items); err != nil {
				return err
			}
		}
		return nil
	})
}

// deleteFailures deletes the stored failures of the key's summaries. If some items are kept, it keeps failures that were
// stored since the call began, because they may concern these items.
func (t *task) deleteFailures(ctx context.Context) error {
	list, err := t.checker.FailuresOf(ctx, t.base)
	if err != nil {
		return err
	}
	newer := 0
	for _, f := range list {
		switch wasDeleted, err := t.deleteFailure(ctx, f); {
		case err != nil:
			return err
		case wasDeleted:
			t.countDeleted(Failures, 1)
		case len(t.report.Kept) > 0:
			newer++
		}
	}
	if newer > 0 {
		t.reportKept("%s noted meanwhile: %s", display.Several(newer, "failure"), t.options.Commands.Line("check", "--failed", "--repair"))
	}
	return nil
}

// deleteFailure deletes a failure. If something is kept, it deletes only a failure to which nothing was added since the
// call began.
func (t *task) deleteFailure(ctx context.Context, failure Failure) (wasDeleted bool, err error) {
	if len(t.report.Kept) == 0 {
		pk, sk := schema.FailureKey(failure.Text)
		old, err := t.remove(ctx, t.o.Names.Rollups, itemKey{pk, sk})
		return len(old) > 0, err
	}
	if !failure.Last.Before(t.begun) {
		return false, nil
	}
	return t.checker.Forget(ctx, failure)
}

// unshard sets the key to one write shard, and waits until no request can use another. It returns the key's entry in the
// shard map, whose Version is 0 if the map never had the key.
func (t *task) unshard(ctx context.Context) (entry shardmap.Entry, err error) {
	err = changeShardMap(ctx, func(ctx context.Context) (err error) {
		entry, err = t.changer.Reset(ctx, t.base.String(), t.o.Now())
		return err
	})
	if err != nil {
		return entry, err
	}
	if left := t.options.Settle - t.o.Now().Sub(entry.Updated); entry.Version > 0 && left > 0 {
		return entry, dynamo.WaitFor(ctx, min(left, t.options.Settle))
	}
	return entry, nil
}

// deleteEntry deletes the key from the shard map, unless its shard count was set again meanwhile.
func (t *task) deleteEntry(ctx context.Context) error {
	wasDeleted := false
	err := changeShardMap(ctx, func(ctx context.Context) error {
		err := t.changer.Forget(ctx, t.base.String(), t.o.Now())
		wasDeleted = wasDeleted || err == nil
		return err
	})
	if errors.Is(err, shardmap.ErrInUse) {
		t.reportKept("its shard count, set again meanwhile")
		return nil
	}
	if wasDeleted {
		t.countDeleted(ShardCounts, 1)
	}
	return err
}

// changeShardMap makes a change of the shard map, and retries it. It returns nil if the shard map already has the change.
func changeShardMap(ctx context.Context, change func(context.Context) error) error {
	err := dynamo.Persist(ctx, change)
	if err == nil || errors.Is(err, shardmap.ErrNoChange) {
		return nil
	}
	return fmt.Errorf("changing the shard map (run the delete again): %w", err)
}
