package events

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ReaderClient is what a Reader calls of DynamoDB.
type ReaderClient interface {
	dynamo.BatchGetter
	dynamo.Querier
}

// Reader reads what a Writer writes.
type Reader struct {
	client ReaderClient
	table  string
	shards *shardmap.Map
}

// NewReader returns a Reader over the items table.
func NewReader(client ReaderClient, table string, shards *shardmap.Map) *Reader {
	return &Reader{client: client, table: table, shards: shards}
}

// Get returns one event, read consistently, or an error of kind ErrNotFound. It
// looks under the shard count in force at the event's time first, which is one
// GetItem, and then under the others that were in force near it.
func (e *Reader) Get(ctx context.Context, entity, id string, t, now time.Time) (Event, error) {
	entry, stale := e.shards.Lookup(ctx, Key(entity), now)
	keys := candidates(entry, entity, id, t)
	for _, part := range [][]dynamo.Item{keys[:1], keys[1:]} {
		items, err := dynamo.BatchGet(ctx, e.client, e.table, part, true)
		if err != nil {
			return Event{}, fmt.Errorf("reading event %q of %q: %w", id, entity, err)
		}
		for _, it := range items {
			if !dynamo.Expired(it, now) {
				return parseEvent(entity, it)
			}
		}
	}
	if stale != nil { // it may be where an old view does not look
		return Event{}, fmt.Errorf("reading event %q of %q: %w", id, entity, stale)
	}
	return Event{}, fmt.Errorf("event %q of %q at %s: %w", id, entity, t.Format(schema.TimeLayout), shard.ErrNotFound)
}

// candidates lists where an event may be: first the one place where it should be,
// then all the others, if any.
func candidates(entry shardmap.Entry, entity, id string, t time.Time) (keys []dynamo.Item) {
	for _, n := range entry.PlacesAt(shard.Calculated, id, t) {
		keys = append(keys, eventKey(entity, id, t, n))
	}
	return keys
}

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
