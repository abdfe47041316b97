package events

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// WriterClient is what a Writer calls of DynamoDB.
type WriterClient interface {
	dynamo.BatchWriter
	dynamo.Putter
}

// Event is one event of an entity. Entity, ID and Time are its identity: the
// same three again are the same event, and replace its data.
type Event struct {
	Entity string
	ID     string
	Time   time.Time // kept to the millisecond
	Data   map[string]types.AttributeValue
}

// Writer writes the events of entities: time series cut into one bucket a
// UTC day and spread over write shards by the event's id.
//
// An event is one item:
//
//	pk         S  E#<entity>#<day>#<shard>
//	sk         S  <time>#<id>, the time as 2026-01-05T12:00:00.123Z
//	data       M  the caller's data, if any
//	expires_at N  Unix seconds, unless events are kept for ever
type Writer struct {
	client    WriterClient
	table     string
	shards    *shardmap.Map
	retention time.Duration
	watch     shardmap.Watcher
}

// Options are how a Writer works. The zero value is good.
type Options struct {
	// Retention is how long events are kept after the end of the UTC day on which they
	// happened or were written, whichever is later, and for up to a day more, by their id; 0
	// keeps them for ever.
	Retention time.Duration
	Watch     shardmap.Watcher // is told how the entities fare; nil for nobody
}

// NewWriter returns a Writer over the items table.
func NewWriter(client WriterClient, table string, shards *shardmap.Map, o Options) *Writer {
	return &Writer{client: client, table: table, shards: shards, retention: o.Retention, watch: watching.Or(o.Watch)}
}

// Put writes events, and returns for each, in order, nil once it is durable or
// an error of kind ErrThrottled, ErrUnavailable or ErrStale. Those that fail keep no
// other from being written; [errors.Join] makes one error of all, nil if all are durable.
//
// Of two events with one identity the later in the list counts, and both share its outcome.
// An event whose time is over [shardmap.Options].EventAhead ahead of now is ErrMisused, and
// not written: the entity's shard count may yet change before that time.
func (e *Writer) Put(ctx context.Context, events []Event, now time.Time) []error {
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
func (e *Writer) PutTransact(ctx context.Context, ev Event, now time.Time) (types.TransactWriteItem, error) {
	it, _, err := e.item(ctx, ev, now)
	if err != nil {
		return types.TransactWriteItem{}, err
	}
	return types.TransactWriteItem{Put: &types.Put{TableName: &e.table, Item: it}}, nil
}

// item returns an event's item, on the write shard that its id has among the
// shard count in force at its time, and what is to be told of an attempt to write it.
func (e *Writer) item(ctx context.Context, ev Event, now time.Time) (dynamo.Item, shardmap.Attempt, error) {
	if ahead := e.shards.Options().EventAhead; ev.Time.After(now.Add(ahead)) {
		return nil, shardmap.Attempt{}, fmt.Errorf("%w: writing an event of %q: its time %s is over %s ahead", shard.ErrMisused, ev.Entity, ev.Time.Format(time.RFC3339), ahead)
	}
	entry, err := e.shards.Lookup(ctx, Key(ev.Entity), now)
	if err != nil {
		return nil, shardmap.Attempt{}, fmt.Errorf("writing an event of %q: %w", ev.Entity, err)
	}
	n := shard.Calculated(ev.ID, entry.History.At(ev.Time))
	it := eventKey(ev.Entity, ev.ID, ev.Time, n)
	if len(ev.Data) > 0 {
		it["data"] = &types.AttributeValueMemberM{Value: ev.Data}
	}
	if e.retention > 0 {
		it[schema.ExpiresAt] = dynamo.Number(expiry(ev, now, e.retention).Unix())
	}
	return it, shardmap.Attempt{Key: Key(ev.Entity), Entry: entry, Shard: n, At: ev.Time}, nil
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

// Key is an entity's key in the shard map.
func Key(entity string) string {
	return schema.BaseKey{Type: schema.Entity, Name: entity}.String()
}

func eventKey(entity, id string, t time.Time, writeShard int) dynamo.Item {
	return dynamo.Key(eventPK(entity, schema.EventBucket.Label(t, 0), writeShard), schema.EventSortKey(t, id))
}

func eventPK(entity, bucket string, n int) string {
	return schema.Key{Base: schema.BaseKey{Type: schema.Entity, Name: entity}, Bucket: bucket, Shard: n}.String()
}
