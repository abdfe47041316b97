package ddb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// EventReaderClient is what an EventReader calls of DynamoDB.
type EventReaderClient interface {
	BatchGetter
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// EventReader reads what an EventWriter writes.
type EventReader struct {
	client EventReaderClient
	table  string
	shards *Map
}

// NewEventReader returns an EventReader over the items table.
func NewEventReader(client EventReaderClient, table string, shards *Map) *EventReader {
	return &EventReader{client: client, table: table, shards: shards}
}

// Get returns one event, read consistently, or an error of kind ErrNotFound. It
// looks under the shard count in force at the event's time first, which is one
// GetItem, and then under the others that were in force near it.
func (e *EventReader) Get(ctx context.Context, entity, id string, t, now time.Time) (Event, error) {
	entry, err := e.shards.Lookup(ctx, entityKey(entity), now)
	if err != nil && !errors.Is(err, ErrStale) {
		return Event{}, err
	}
	counts := slices.Insert(entry.History.Counts(t.Add(-margin), t.Add(margin)), 0, entry.History.At(t))
	var tried []int
	for _, n := range counts {
		at := shard.Calculated(id, n)
		if slices.Contains(tried, at) {
			continue
		}
		tried = append(tried, at)
		items, err := batchGet(ctx, e.client, e.table, []item{eventKey(entity, id, t, n)}, true)
		if err != nil {
			return Event{}, fmt.Errorf("reading event %q of %q: %w", id, entity, err)
		}
		if len(items) == 1 && !expired(items[0], now) {
			return parseEvent(entity, items[0])
		}
	}
	return Event{}, fmt.Errorf("event %q of %q at %s: %w", id, entity, t.Format(schema.TimeLayout), ErrNotFound)
}

// margin is how far around an instant readers mind other shard counts than the
// one in force: longer than a change takes to be known everywhere.
const margin = 15 * time.Second

func parseEvent(entity string, it item) (Event, error) {
	t, id, err := schema.ParseEventSortKey(text(it, schema.SK))
	if err != nil {
		return Event{}, err
	}
	ev := Event{Entity: entity, ID: id, Time: t}
	if m, ok := it["data"].(*types.AttributeValueMemberM); ok {
		ev.Data = m.Value
	}
	return ev, nil
}

// expired tells whether an item's time is over: TTL removes late.
func expired(it item, now time.Time) bool {
	n, ok := it[schema.ExpiresAt].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := strconv.ParseInt(n.Value, 10, 64)
	return err == nil && at <= now.Unix()
}
