package ddb

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// EventClient is what an EventWriter calls of DynamoDB.
type EventClient interface {
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
}

// Event is one event of an entity. Entity, ID and Time are its identity: the
// same three again are the same event, and replace its data.
type Event struct {
	Entity string
	ID     string
	Time   time.Time // kept to the millisecond
	Data   map[string]types.AttributeValue
}

// EventWriter writes the events of entities: time series cut into one bucket a
// UTC day and spread over write shards by the event's id.
//
// An event is one item:
//
//	pk         S  E#<entity>#<day>#<shard>
//	sk         S  <time>#<id>, the time as 2026-01-05T12:00:00.123Z
//	data       M  the caller's data, if any
//	expires_at N  Unix seconds, unless events are kept for ever
type EventWriter struct {
	client    EventClient
	table     string
	shards    *Map
	retention time.Duration
	watch     Watcher
}

// NewEventWriter returns an EventWriter over the items table. Events are kept for
// retention after the end of the UTC day on which they happened or were written,
// whichever is later, and for up to a day more, by their id; 0 keeps them for ever. It tells watch how its entities
// fare; [Unwatched] is for nobody.
func NewEventWriter(client EventClient, table string, shards *Map, retention time.Duration, watch Watcher) *EventWriter {
	return &EventWriter{client: client, table: table, shards: shards, retention: retention, watch: watched(watch)}
}

// Put writes events, and returns for each, in order, nil once it is durable or
// an error of kind ErrThrottled, ErrUnavailable or ErrStale. Of two events with
// one identity the later in the list counts, and both share its outcome. An event
// whose time is over [MapOptions].EventAhead ahead of now is ErrMisused, and not written: the
// entity's shard count may yet change before that time.
func (e *EventWriter) Put(ctx context.Context, events []Event, now time.Time) []error {
	outcomes := make([]error, len(events))
	batch := newWriteBatch(e.client, e.table, e.watch)
	for i, ev := range events {
		it, sent, err := e.item(ctx, ev, now)
		if err != nil {
			outcomes[i] = err
			continue
		}
		batch.add(it, i, sent)
	}
	batch.write(ctx, outcomes)
	return outcomes
}

// PutTransact returns the write of one event as an action of a transaction. What Put
// refuses it does, too.
func (e *EventWriter) PutTransact(ctx context.Context, ev Event, now time.Time) (types.TransactWriteItem, error) {
	it, _, err := e.item(ctx, ev, now)
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	return types.TransactWriteItem{Put: &types.Put{TableName: &e.table, Item: it}}, nil
}

// item returns an event's item, on the write shard that its id has among the
// shard count in force at its time, and what is to be told of an attempt to write it.
func (e *EventWriter) item(ctx context.Context, ev Event, now time.Time) (item, Attempt, error) {
	if ahead := e.shards.options.EventAhead; ev.Time.After(now.Add(ahead)) {
		return nil, Attempt{}, fmt.Errorf("%w: writing an event of %q: its time %s is over %s ahead", ErrMisused, ev.Entity, ev.Time.Format(time.RFC3339), ahead)
	}
	entry, err := e.shards.Lookup(ctx, entityKey(ev.Entity), now)
	if err != nil {
		return nil, Attempt{}, fmt.Errorf("writing an event of %q: %w", ev.Entity, err)
	}
	n := shard.Calculated(ev.ID, entry.History.At(ev.Time))
	it := eventKey(ev.Entity, ev.ID, ev.Time, n)
	if len(ev.Data) > 0 {
		it["data"] = &types.AttributeValueMemberM{Value: ev.Data}
	}
	if e.retention > 0 {
		it[schema.ExpiresAt] = number(expiry(ev, now, e.retention).Unix())
	}
	return it, Attempt{Key: entityKey(ev.Entity), Entry: entry, Shard: n, At: ev.Time}, nil
}

// expiry depends on the event and the day of now only, so that a repeated write is mostly
// the same item to the byte, which costs readers of the stream nothing.
func expiry(ev Event, now time.Time, retention time.Duration) time.Time {
	t := ev.Time
	if now.After(t) {
		t = now
	}
	return t.UTC().Truncate(24 * time.Hour).Add(24*time.Hour + retention + schema.ExpirySpread(ev.ID))
}

func entityKey(entity string) string {
	return schema.BaseKey{Type: schema.Entity, Name: entity}.String()
}

func eventKey(entity, id string, t time.Time, writeShard int) item {
	return itemKey(eventPK(entity, schema.EventBucket.Label(t, 0), writeShard), schema.EventSortKey(t, id))
}

func eventPK(entity, bucket string, n int) string {
	return schema.Key{Base: schema.BaseKey{Type: schema.Entity, Name: entity}, Bucket: bucket, Shard: n}.String()
}
