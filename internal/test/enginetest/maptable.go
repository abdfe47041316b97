package enginetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// MapTable is a shard-map table in memory whose calls take a set time by the test's clock:
//
//	shards := shardmap.New(enginetest.NewMapTable(10, 0, 0), "map", shardmap.Options{})
type MapTable struct {
	Page int          // items of a page
	Down func() error // called for each page of keys, one at a time; may be nil

	Mu    sync.Mutex
	Takes time.Duration          // duration of a page of keys
	trips time.Duration          // duration of any other call
	Items map[string]dynamo.Item // by ItemSlot
	Asked []string               // starts of the pages of keys that were read
}

func NewMapTable(page int, takes, trips time.Duration) *MapTable {
	return &MapTable{Page: page, Takes: takes, trips: trips, Items: map[string]dynamo.Item{}}
}

// ItemSlot returns the text by which the fake orders items.
func ItemSlot(key dynamo.Item) string {
	return dynamo.Text(key, schema.PK) + "\x00" + dynamo.Text(key, schema.SK)
}

func (f *MapTable) Put(it dynamo.Item) { f.Items[ItemSlot(it)] = it }

// Answer sets the durations of calls.
func (f *MapTable) Answer(takes, trips time.Duration) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	f.Takes, f.trips = takes, trips
}

func (f *MapTable) durations() (takes, trips time.Duration) {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.Takes, f.trips
}

// Wait waits for d or the context's end. It takes no timer of 0 length: in a bubble of synctest, Go
// 1.26's race detector crashed on one.
func (f *MapTable) Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *MapTable) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	_, trips := f.durations()
	if err := f.Wait(ctx, trips); err != nil {
		return nil, err
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return &dynamodb.GetItemOutput{Item: f.Items[ItemSlot(in.Key)]}, nil
}

// Query reads a bucket's keys or snapshot, or a log from a time on.
func (f *MapTable) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	part := dynamo.Text(in.ExpressionAttributeValues, ":part")
	takes, trips := f.durations()
	if part == "" {
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
	pk, after := cmp.Or(part, dynamo.Text(in.ExpressionAttributeValues, ":log"), dynamo.Text(in.ExpressionAttributeValues, ":snapshot")), ""
	if in.ExclusiveStartKey != nil {
		after = ItemSlot(in.ExclusiveStartKey)
	}
	if part != "" {
		f.Asked = append(f.Asked, pk+" "+after)
	}
	out := &dynamodb.QueryOutput{}
	var slots []string
	for at := range f.Items {
		if from := pk + "\x00" + dynamo.Text(in.ExpressionAttributeValues, ":from"); strings.HasPrefix(at, pk+"\x00") && at > after && at >= from {
			slots = append(slots, at)
		}
	}
	slices.Sort(slots)
	for _, at := range slots {
		it := f.Items[at]
		if len(out.Items) == f.Page {
			out.LastEvaluatedKey = dynamo.Key(pk, dynamo.Text(out.Items[f.Page-1], schema.SK))
			break
		}
		out.Items = append(out.Items, it)
	}
	return out, nil
}

// PutItem makes a put. If it has a condition, that is on the item's version.
func (f *MapTable) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	_, trips := f.durations()
	if err := f.Wait(ctx, trips); err != nil {
		return nil, err
	}
	f.Mu.Lock()
	defer f.Mu.Unlock()
	there := f.Items[ItemSlot(in.Item)]
	if in.ConditionExpression != nil && dynamo.Digits(there, "version") != dynamo.Digits(in.ExpressionAttributeValues, ":old") {
		return nil, &types.ConditionalCheckFailedException{}
	}
	f.Put(in.Item)
	return &dynamodb.PutItemOutput{}, nil
}

// TransactWriteItems makes all puts and ignores their conditions.
func (f *MapTable) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
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

// Pages returns the number of pages of keys that were read.
func (f *MapTable) Pages() int {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return len(f.Asked)
}

// Again returns the number of pages of keys that were read more than once.
func (f *MapTable) Again() int {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return len(f.Asked) - len(slices.Compact(slices.Sorted(slices.Values(f.Asked))))
}
