package events

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ReaderClient has the DynamoDB calls of a Reader.
type ReaderClient interface {
	client.BatchGetter
	client.Querier
}

// Reader reads the events that a Writer writes.
type Reader struct {
	client ReaderClient
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(db ReaderClient, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: db, table: table, shards: shards}
}

// Get returns one event, read strongly consistent, or an error that wraps ErrNotFound. It costs 1 RCU per 4 KB on each
// write shard that it reads: the one that follows from the shard count at the event's time, and then those that follow
// from other counts near that time. Before it returns ErrNotFound for a time in the last 30 s, or with an outdated
// shard map, it also reads the entity's entry in the shard map.
func (e *Reader) Get(ctx context.Context, entity, id string, t, now time.Time) (Event, error) {
	if err := cmp.Or(dynamo.CheckNow(now), observe.CheckArguments(e.client, e.shards, entity, id)); err != nil {
		return Event{}, err
	}
	entry, stale := e.shards.Lookup(ctx, Key(entity), now)
	it, err := e.find(ctx, entry, entity, id, t, now)
	mayLackGrowth := stale != nil || t.After(now.Add(-shardmap.Unsettled))
	if err == nil && it == nil && mayLackGrowth {
		var current shardmap.Entry
		if current, err = e.shards.Current(ctx, Key(entity)); err == nil && current.Version != entry.Version {
			it, err = e.find(ctx, current, entity, id, t, now)
		}
	}
	switch {
	case err != nil:
		return Event{}, fmt.Errorf("reading event %q of %q: %w", id, entity, err)
	case it == nil:
		return Event{}, fmt.Errorf("event %q of %q at %s: %w", id, entity, t.Format(schema.TimeLayout), shard.ErrNotFound)
	}
	return parseEvent(entity, it)
}

// find returns the item of an event, or nil if no write shard that follows from the entry's counts has the event.
func (e *Reader) find(ctx context.Context, entry shardmap.Entry, entity, id string, t, now time.Time) (dynamo.Item, error) {
	places := entry.PlacesAt(shard.Calculated, id, t)
	likely, others := places[:1], places[1:]
	for _, writeShards := range [][]int{likely, others} {
		keys := make([]dynamo.Item, len(writeShards))
		for i, n := range writeShards {
			keys[i] = eventKey(entity, id, t, n)
		}
		items, err := dynamo.BatchGet(ctx, e.client, e.table, keys, true)
		if err != nil {
			return nil, err
		}
		items = slices.DeleteFunc(items, func(it dynamo.Item) bool { return dynamo.Expired(it, now) })
		for _, key := range keys { // the copy on the lowest write shard, as in ranges
			if i := slices.IndexFunc(items, func(it dynamo.Item) bool { return keyText(it) == keyText(key) }); i >= 0 {
				return items[i], nil
			}
		}
	}
	return nil, nil
}

// parseEvent returns the event of an item, or a *[shard.ItemError].
func parseEvent(entity string, it dynamo.Item) (Event, error) {
	t, id, err := schema.ParseEventSortKey(dynamo.Text(it, schema.SK))
	if err != nil {
		return Event{}, &shard.ItemError{PK: dynamo.Text(it, schema.PK), SK: dynamo.Text(it, schema.SK), Err: err}
	}
	ev := Event{Entity: entity, ID: id, Time: t}
	if m, ok := it["data"].(*types.AttributeValueMemberM); ok {
		ev.Data = m.Value
	}
	return ev, nil
}
