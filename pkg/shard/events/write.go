package events

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// WriterClient has the DynamoDB calls of a Writer.
type WriterClient interface {
	client.BatchWriter
	client.Putter
}

// Event is one event of an entity. Entity, ID and Time identify it: a second write of the same three replaces its data.
type Event struct {
	Entity string
	ID     string
	Time   time.Time // kept to the millisecond
	Data   map[string]types.AttributeValue

	// New means that the ID was made for this write, and that nobody else knows the ID before the write's end. A new
	// event uses added write shards at once; other events wait until all processes know of these write shards. After an
	// error that is not ErrThrottled, a write with another ID may make a second event. So may a write of the same ID
	// that is not New. Readers leave New false.
	New bool
}

// Writer writes the events of entities: time series with one bucket per UTC day, spread over
// write shards by the event's id.
//
// An event is one item:
//
//	pk         S  E#<entity>#<day>#<shard>
//	sk         S  <time>#<id>, the time as 2026-01-05T12:00:00.123Z
//	data       M  the caller's data, if any
//	expires_at N  Unix seconds; absent if events are kept forever
//	rev        N  how often a call that had only this event replaced it; absent until then
type Writer struct {
	client    WriterClient
	table     string
	shards    *shardmap.Map
	retention time.Duration
	observer  shard.Observer
}

// Options are a Writer's settings. The zero value is ready to use.
type Options struct {
	// Retention is how long events are kept after the end of the UTC day on which they happened or were written,
	// whichever is later. To spread deletions, up to a day is added by the event's id. 0 keeps events forever.
	Retention time.Duration
	Observer  shard.Observer // receives every write attempt; may be nil
}

// NewWriter returns a Writer over the items table.
func NewWriter(db WriterClient, table string, shards *shardmap.Map, o Options) *Writer {
	return &Writer{client: db, table: table, shards: shards, retention: o.Retention, observer: o.Observer}
}

// Put writes events, and returns for each, in order, nil once the event is durable or an error of kind ErrThrottled,
// ErrUnavailable, ErrStale or ErrMisused. If one event fails, the others are still written. [errors.Join] makes one
// error of all; it is nil if all events are durable.
//
// DynamoDB may apply an attempt that timed out after a newer call. A late attempt of a call with one event replaces no
// data of a newer call, unless a call with several events or PutTransact has restored the old data. A late attempt of a
// call with several events may replace newer data. A call with one event pays a second WCU if it replaces other data.
//
// If two events have the same Entity, ID and Time, Put writes the later in the list, and returns its outcome for both.
// For these events Put returns ErrMisused, and does not write them:
//   - without an Entity or an ID;
//   - with a year in UTC that is not 0 to 9999;
//   - more than [shardmap.Options].EventAhead ahead of now, since the shard count at that time may
//     still change.
func (e *Writer) Put(ctx context.Context, events []Event, now time.Time) []error {
	outcomes := make([]error, len(events))
	if err := dynamo.CheckClient(e.client); err != nil {
		for i := range outcomes {
			outcomes[i] = err
		}
		return outcomes
	}
	batch := newWriteBatch(e, now)
	for i, ev := range events {
		w, err := e.PutTransact(ctx, ev, now)
		if err != nil {
			outcomes[i] = err
			continue
		}
		batch.addWrite(ev, w, i)
	}
	batch.write(ctx, outcomes)
	return outcomes
}

// PutTransact returns the write of one event for a transaction of package once. The write shard is calculated from the
// event's id, by the shard count at its time, or for a new event by [shardmap.Entry.CountOfNew]. Its errors wrap
// ErrStale or ErrMisused.
func (e *Writer) PutTransact(ctx context.Context, ev Event, now time.Time) (shardmap.Write, error) {
	var entry shardmap.Entry
	err := e.check(ev, now)
	if err == nil {
		entry, err = e.shards.Lookup(ctx, Key(ev.Entity), now)
	}
	if err != nil {
		return shardmap.Write{}, fmt.Errorf("writing event %q of %q: %w", ev.ID, ev.Entity, err)
	}
	count, newAttempt := entry.History.At(ev.Time), observe.NewAttempt
	if ev.New {
		count, newAttempt = entry.CountOfNew(ev.Time), observe.NewItemAttempt
	}
	n := shard.Calculated(ev.ID, count)
	it := eventKey(ev.Entity, ev.ID, ev.Time, n)
	if len(ev.Data) > 0 {
		it["data"] = &types.AttributeValueMemberM{Value: ev.Data}
	}
	if e.retention > 0 {
		it[schema.ExpiresAt] = dynamo.Number(expiry(ev, now, e.retention).Unix())
	}
	attempt := newAttempt(schema.Event, Key(ev.Entity), entry, n, ev.Time)
	attempt.Items = observe.Hash(dynamo.Text(it, schema.SK))
	return shardmap.Write{
		Action:  types.TransactWriteItem{Put: &types.Put{TableName: &e.table, Item: it}},
		Attempt: attempt,
		Probe:   observe.TableProbe(it),
	}, nil
}

// check returns ErrMisused if an event can't be written at now.
func (e *Writer) check(ev Event, now time.Time) error {
	if err := observe.CheckMap(e.shards, ev.Entity, ev.ID); err != nil {
		return err
	}
	if year := ev.Time.UTC().Year(); year < 0 || year > 9999 {
		return fmt.Errorf("%w: the year of the event's time is %d: want 0 to 9999", shard.ErrMisused, year)
	}
	if ahead := e.shards.Options().EventAhead; ev.Time.After(now.Add(ahead)) {
		return fmt.Errorf("%w: the event's time %s is over %s ahead: write the event later, or check this clock", shard.ErrMisused, ev.Time.Format(time.RFC3339), ahead)
	}
	return nil
}

// expiry returns when the event expires. The result depends only on the event, the retention and the day of now. So a
// repeated write usually stores the same bytes, and causes no stream record.
func expiry(ev Event, now time.Time, retention time.Duration) time.Time {
	t := ev.Time
	if now.After(t) {
		t = now
	}
	return t.UTC().Truncate(24 * time.Hour).Add(24*time.Hour + retention + schema.ExpirySpread(ev.ID))
}

// Key returns an entity's key in the shard map.
func Key(entity string) string {
	return schema.BaseKey{Type: schema.Event, Name: entity}.String()
}

func eventKey(entity, id string, t time.Time, writeShard int) dynamo.Item {
	base := schema.BaseKey{Type: schema.Event, Name: entity}
	pk := schema.Key{Base: base, Bucket: schema.EventBucket.Label(t), Shard: writeShard}
	return dynamo.Key(pk.String(), schema.EventSortKey(t, id))
}
