package events

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/given"
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

// Get returns one event, read strongly consistent, or an error that wraps ErrNotFound. It first reads the
// write shard by the shard count at the event's time, and then those by the other counts near that
// time.
func (e *Reader) Get(ctx context.Context, entity, id string, t, now time.Time) (Event, error) {
	if err := cmp.Or(dynamo.CheckNow(now), given.Check(e.client, e.shards, entity, id)); err != nil {
		return Event{}, err
	}
	entry, stale := e.shards.Lookup(ctx, Key(entity), now)
	keys := candidates(entry, entity, id, t)
	for _, some := range [][]dynamo.Item{keys[:1], keys[1:]} {
		items, err := dynamo.BatchGet(ctx, e.client, e.table, some, true)
		if err != nil {
			return Event{}, fmt.Errorf("reading event %q of %q: %w", id, entity, err)
		}
		for _, it := range items {
			if !dynamo.Expired(it, now) {
				return parseEvent(entity, it)
			}
		}
	}
	if stale != nil { // the event may be on a write shard of a newer count
		return Event{}, fmt.Errorf("reading event %q of %q: %w", id, entity, stale)
	}
	return Event{}, fmt.Errorf("event %q of %q at %s: %w", id, entity, t.Format(schema.TimeLayout), shard.ErrNotFound)
}

// candidates returns the keys under which an event may be stored, the most likely one first.
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
