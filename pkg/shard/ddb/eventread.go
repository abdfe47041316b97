package ddb

import (
	"context"
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
	entry, stale := e.shards.Lookup(ctx, entityKey(entity), now)
	for _, keys := range candidates(entry, entity, id, t) {
		items, err := batchGet(ctx, e.client, e.table, keys, true)
		if err != nil {
			return Event{}, fmt.Errorf("reading event %q of %q: %w", id, entity, err)
		}
		for _, it := range items {
			if !expired(it, now) {
				return parseEvent(entity, it)
			}
		}
	}
	if stale != nil { // it may be where an old view does not look
		return Event{}, fmt.Errorf("reading event %q of %q: %w", id, entity, stale)
	}
	return Event{}, fmt.Errorf("event %q of %q at %s: %w", id, entity, t.Format(schema.TimeLayout), ErrNotFound)
}

// candidates lists where an event may be: first the one place where it should be,
// then all the others, if any.
func candidates(entry Entry, entity, id string, t time.Time) [][]item {
	var keys []item
	for _, n := range calculatedShards(entry, shard.Calculated, id, t) {
		keys = append(keys, eventKey(entity, id, t, n))
	}
	if len(keys) == 1 {
		return [][]item{keys}
	}
	return [][]item{keys[:1], keys[1:]}
}

// calculation gives the write shard, 0 to n-1, of what has attr among n.
type calculation func(attr string, n int) int

// calculatedShards lists the write shards on which an item of time t may be that has
// attr: first the one where it should be, then those of other counts near t.
func calculatedShards(entry Entry, calculate calculation, attr string, t time.Time) []int {
	first := calculate(attr, entry.History.At(t))
	rest := spreadShards(entry, calculate, attr, t.Add(-margin), t.Add(margin))
	return append([]int{first}, slices.DeleteFunc(rest, func(n int) bool { return n == first })...)
}

// spreadShards lists, in order, the write shards on which items of times from from
// to to may be that have attr.
func spreadShards(entry Entry, calculate calculation, attr string, from, to time.Time) []int {
	var list []int
	if entry.forgotten(from) {
		for n := range entry.Most() {
			list = append(list, n)
		}
		return list
	}
	for _, count := range entry.History.Counts(from, to) {
		list = append(list, calculate(attr, count))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func parseEvent(entity string, it item) (Event, error) {
	t, id, err := schema.ParseEventSortKey(text(it, schema.SK))
	if err != nil {
		return Event{}, &ItemError{text(it, schema.PK), text(it, schema.SK), err}
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
