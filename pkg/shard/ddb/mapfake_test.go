package ddb

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
)

// fakeMap is a shard-map table that answers after a time of a test's own clock.
type fakeMap struct {
	page int          // items of a query's page
	down func() error // what becomes of a page of keys, if not nil: one at a time

	mu    sync.Mutex
	takes time.Duration   // a page of keys
	trips time.Duration   // any other call
	items map[string]item // by place
	asked []string        // where pages of keys began
}

func newFakeMap(page int, takes, trips time.Duration) *fakeMap {
	return &fakeMap{page: page, takes: takes, trips: trips, items: map[string]item{}}
}

// slotOf is what the fake orders items by.
func slotOf(key item) string { return text(key, schema.PK) + "\x00" + text(key, schema.SK) }

func (f *fakeMap) put(it item) { f.items[slotOf(it)] = it }

// answer sets how long calls take from now on.
func (f *fakeMap) answer(takes, trips time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.takes, f.trips = takes, trips
}

func (f *fakeMap) durations() (takes, trips time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes, f.trips
}

func (f *fakeMap) wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *fakeMap) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	_, trips := f.durations()
	if err := f.wait(ctx, trips); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return &dynamodb.GetItemOutput{Item: f.items[slotOf(in.Key)]}, nil
}

// Query reads a part's keys, or the log from a time on.
func (f *fakeMap) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	part, log := text(in.ExpressionAttributeValues, ":part"), text(in.ExpressionAttributeValues, ":log")
	takes, trips := f.durations()
	if log != "" {
		takes = trips
	}
	if err := f.wait(ctx, takes); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil && part != "" {
		if err := f.down(); err != nil {
			return nil, err
		}
	}
	pk, after := cmp.Or(part, log), ""
	if in.ExclusiveStartKey != nil {
		after = slotOf(in.ExclusiveStartKey)
	}
	if part != "" {
		f.asked = append(f.asked, pk+" "+after)
	}
	out := &dynamodb.QueryOutput{}
	for _, at := range slices.Sorted(maps.Keys(f.items)) {
		it := f.items[at]
		if text(it, schema.PK) != pk || at <= after || text(it, schema.SK) < text(in.ExpressionAttributeValues, ":from") {
			continue
		}
		if len(out.Items) == f.page {
			out.LastEvaluatedKey = itemKey(pk, text(out.Items[f.page-1], schema.SK))
			break
		}
		out.Items = append(out.Items, it)
	}
	return out, nil
}

// TransactWriteItems makes all puts, whatever their conditions.
func (f *fakeMap) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	_, trips := f.durations()
	if err := f.wait(ctx, trips); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, action := range in.TransactItems {
		f.put(action.Put.Item)
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// strictMap is a fakeMap that minds the conditions of a MapChanger.
type strictMap struct{ *fakeMap }

func (c *strictMap) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.mu.Lock()
	put := in.TransactItems[0].Put
	ok := holds(put, c.items[slotOf(put.Item)])
	c.mu.Unlock()
	if !ok {
		return nil, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("ConditionalCheckFailed")}}}
	}
	return c.fakeMap.TransactWriteItems(ctx, in, o...)
}

// holds tells whether a put's condition holds for what is there.
func holds(put *types.Put, there item) bool {
	value := func(from item, name string) float64 {
		n, _ := from[name].(*types.AttributeValueMemberN)
		if n == nil {
			return 0
		}
		f, _ := strconv.ParseFloat(n.Value, 64)
		return f
	}
	values := put.ExpressionAttributeValues
	switch condition := aws.ToString(put.ConditionExpression); condition {
	case "attribute_not_exists(version)":
		return there[attrVersion] == nil
	case "version = :old":
		return there[attrVersion] != nil && value(there, attrVersion) == value(values, ":old")
	case "attribute_not_exists(#n) OR #n <= :n OR last_updated < :old":
		return there == nil || value(there, attrNoted) <= value(values, ":n") || value(there, attrUpdated) < value(values, ":old")
	default:
		panic("a condition that the fake does not know: " + condition)
	}
}

// pages counts the pages of keys that were read.
func (f *fakeMap) pages() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// again counts the pages of keys that were read more than once.
func (f *fakeMap) again() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked) - len(slices.Compact(slices.Sorted(slices.Values(f.asked))))
}

// change makes a change now of a key that has had one version less. Its count is in
// force since long ago.
func (f *fakeMap) change(version int64, key string, n int) (it, log item) {
	e := Entry{
		Key: key, History: shard.History{{At: time.Unix(1_000_000_000, 0), Count: n}},
		Max: n, Version: version, Updated: dated(time.Now()),
	}
	it, log = e.attributes(), e.logItem()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(it)
	f.put(log)
	return it, log
}

// manyPages is a map of 200 keys, counters k0 to k199 with 16 write shards, which takes
// longer to load than anyone waits for. Their changes are not in the log any more.
func manyPages() *fakeMap {
	f := newFakeMap(2, 60*time.Millisecond, 5*time.Millisecond)
	for n := range 200 {
		_, log := f.change(1, fmt.Sprint("C#k", n), 16)
		delete(f.items, slotOf(log))
	}
	return f
}

// soon looks a key up within a time.
func soon(t *testing.T, m *Map, key string, d time.Duration) (Entry, error) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return m.Lookup(ctx, key, time.Now())
}

// newForm is a history in a form that is not known here.
var newForm = &types.AttributeValueMemberL{Value: []types.AttributeValue{&types.AttributeValueMemberS{Value: "v2;1000000000;40"}}}
