// Package mapfake is a shard-map table for tests, which answers by a clock of their own:
//
//	table := mapfake.New(10, 0, 0)
//	shards := shardmap.New(table, "map", shardmap.Options{})
package mapfake

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

// Table is a shard-map table that answers after a time of a test's own clock.
type Table struct {
	Page int          // items of a query's page
	Down func() error // what becomes of a page of keys, if not nil: one at a time

	Mu    sync.Mutex
	Takes time.Duration          // a page of keys
	trips time.Duration          // any other call
	Items map[string]dynamo.Item // by place
	Asked []string               // where pages of keys began
}

func New(page int, takes, trips time.Duration) *Table {
	return &Table{Page: page, Takes: takes, trips: trips, Items: map[string]dynamo.Item{}}
}

// Slot is what the fake orders items by.
func Slot(key dynamo.Item) string {
	return dynamo.Text(key, schema.PK) + "\x00" + dynamo.Text(key, schema.SK)
}

func (f *Table) Put(it dynamo.Item) { f.Items[Slot(it)] = it }

// answer sets how long calls take from now on.
func (f *Table) Answer(takes, trips time.Duration) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Takes, f.trips = takes, trips
}

func (f *Table) durations() (takes, trips time.Duration) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Takes, f.trips
}

func (f *Table) Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *Table) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	_, trips := f.durations()
	if err := f.Wait(ctx, trips); err != nil {
		return nil, err
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return &dynamodb.GetItemOutput{Item: f.Items[Slot(in.Key)]}, nil
}

// Query reads a part's keys, or the log from a time on.
func (f *Table) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	part, log := dynamo.Text(in.ExpressionAttributeValues, ":part"), dynamo.Text(in.ExpressionAttributeValues, ":log")
	takes, trips := f.durations()
	if log != "" {
		takes = trips
	}
	if err := f.Wait(ctx, takes); err != nil {
		return nil, err
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Down != nil && part != "" {
		if err := f.Down(); err != nil {
			return nil, err
		}
	}
	pk, after := cmp.Or(part, log), ""
	if in.ExclusiveStartKey != nil {
		after = Slot(in.ExclusiveStartKey)
	}
	if part != "" {
		f.Asked = append(f.Asked, pk+" "+after)
	}
	out := &dynamodb.QueryOutput{}
	for _, at := range slices.Sorted(maps.Keys(f.Items)) {
		it := f.Items[at]
		if dynamo.Text(it, schema.PK) != pk || at <= after || dynamo.Text(it, schema.SK) < dynamo.Text(in.ExpressionAttributeValues, ":from") {
			continue
		}
		if len(out.Items) == f.Page {
			out.LastEvaluatedKey = dynamo.Key(pk, dynamo.Text(out.Items[f.Page-1], schema.SK))
			break
		}
		out.Items = append(out.Items, it)
	}
	return out, nil
}

// TransactWriteItems makes all puts, whatever their conditions.
func (f *Table) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	_, trips := f.durations()
	if err := f.Wait(ctx, trips); err != nil {
		return nil, err
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	for _, action := range in.TransactItems {
		f.Put(action.Put.Item)
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// pages counts the pages of keys that were read.
func (f *Table) Pages() int {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return len(f.Asked)
}

// again counts the pages of keys that were read more than once.
func (f *Table) Again() int {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return len(f.Asked) - len(slices.Compact(slices.Sorted(slices.Values(f.Asked))))
}
