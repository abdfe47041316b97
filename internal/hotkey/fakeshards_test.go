package hotkey_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// fakeItems takes beats.
type fakeItems struct {
	mu   sync.Mutex
	puts map[string]int64 // the newest beat by partition key
	fail error
}

func (f *fakeItems) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	if *in.TableName != "hotshard-items" || in.Item["sk"].(*types.AttributeValueMemberS).Value != "~beat" {
		return nil, fmt.Errorf("put of %v into %q", in.Item, *in.TableName)
	}
	at, err := strconv.ParseInt(in.Item["beat"].(*types.AttributeValueMemberN).Value, 10, 64)
	f.puts[in.Item["pk"].(*types.AttributeValueMemberS).Value] = at
	return &dynamodb.PutItemOutput{}, err
}

// fakeShards is a shard map in memory, with the rules of the real one.
type fakeShards struct {
	entries map[string]ddb.Entry
	changes []string
	notes   []ddb.Note
	fail    error

	failChange error
}

func (f *fakeShards) Lookup(_ context.Context, key string, _ time.Time) (ddb.Entry, error) {
	return f.entries[key], f.fail
}

func (f *fakeShards) Entries(context.Context, time.Time) ([]ddb.Entry, error) {
	return slices.Collect(maps.Values(f.entries)), f.fail
}

func (f *fakeShards) Grow(_ context.Context, key string, count int, note ddb.Note, now time.Time) (ddb.Entry, error) {
	return f.change(key, count, count > f.entries[key].History.Newest(), note, now)
}

func (f *fakeShards) Shrink(_ context.Context, key string, count int, note ddb.Note, now time.Time) (ddb.Entry, error) {
	return f.change(key, count, count < f.entries[key].History.Newest(), note, now)
}

func (f *fakeShards) change(key string, count int, sense bool, note ddb.Note, now time.Time) (ddb.Entry, error) {
	entry := f.entries[key]
	switch {
	case f.fail != nil || f.failChange != nil:
		return entry, cmp.Or(f.fail, f.failChange)
	case entry.Pinned:
		return entry, ddb.ErrPinned
	case now.Before(entry.Effective().Add(10 * time.Second)):
		return entry, ddb.ErrNoChange
	case !sense:
		return entry, ddb.ErrNoChange
	}
	f.changes = append(f.changes, fmt.Sprintf("%s %d>%d", key, entry.History.Newest(), count))
	f.notes = append(f.notes, note)
	f.set(key, count, now.Add(10*time.Second))
	return f.entries[key], nil
}

func (f *fakeShards) set(key string, count int, at time.Time) {
	entry := f.entries[key]
	entry.Key = key
	entry.History = append(slices.Clone(entry.History), shard.Change{At: at, Count: count})
	f.entries[key] = entry
}
