package ddb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
)

// fakeMap is a shard-map table that answers after a time of a test's own clock.
type fakeMap struct {
	page  int           // items of a scan's page
	takes time.Duration // a page
	trips time.Duration // any other call
	down  func() error  // what becomes of a page, if not nil

	mu    sync.Mutex
	items map[string]item
	asked []string // where pages began
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
	if err := f.wait(ctx, f.trips); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return &dynamodb.GetItemOutput{Item: f.items[text(in.Key, "pk")]}, nil
}

func (f *fakeMap) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if err := f.wait(ctx, f.takes); err != nil {
		return nil, err
	}
	if f.down != nil {
		if err := f.down(); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	from := text(in.ExclusiveStartKey, "pk")
	f.asked = append(f.asked, from)
	out := &dynamodb.ScanOutput{}
	for _, key := range slices.Sorted(maps.Keys(f.items)) {
		if key <= from {
			continue
		}
		if len(out.Items) == f.page {
			out.LastEvaluatedKey = item{"pk": out.Items[f.page-1]["pk"]}
			break
		}
		out.Items = append(out.Items, f.items[key])
	}
	return out, nil
}

// TransactWriteItems makes all puts and deletes, whatever their conditions.
func (f *fakeMap) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := f.wait(ctx, f.trips); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, action := range in.TransactItems {
		if action.Put != nil {
			f.items[text(action.Put.Item, "pk")] = action.Put.Item
		} else {
			delete(f.items, text(action.Delete.Key, "pk"))
		}
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// pages counts the pages that were read.
func (f *fakeMap) pages() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

// change makes a change, of long ago.
func (f *fakeMap) change(seq int64, key string, n int) {
	at := time.Unix(1_000_000_000, 0)
	e := Entry{Key: key, History: shard.History{{At: at, Count: n}}, Max: n, Version: seq, Updated: at}
	it, log := e.attributes(), e.attributes()
	it["pk"] = &types.AttributeValueMemberS{Value: key}
	log["pk"], log[attrKey] = logKey(seq)["pk"], it["pk"]
	f.items[key], f.items[text(log, "pk")] = it, log
}

// manyPages is a map of 200 changes of 20 keys, counters k0 to k19 with 16 write
// shards, which takes 22 pages and longer than anyone waits for.
func manyPages() *fakeMap {
	f := &fakeMap{page: 10, takes: 60 * time.Millisecond, trips: 5 * time.Millisecond, items: map[string]item{}}
	for n := int64(1); n <= 200; n++ {
		f.change(n, fmt.Sprint("C#k", n%20), 16)
	}
	return f
}

// soon looks a key up within a time.
func soon(t *testing.T, m *Map, key string, d time.Duration) (Entry, error) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return m.Lookup(ctx, key, time.Now())
}
