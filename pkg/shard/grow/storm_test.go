package grow_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/grow"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// stored is a table in memory whose partitions throttle by the test's clock. A write takes 5 ms.
type stored struct {
	gate  *partitions.Gate
	space *partitions.Space

	mu    sync.Mutex
	items map[string]map[string]table.Item // by partition key and sort key
}

func newStored(seed uint64) *stored {
	s := &stored{items: map[string]map[string]table.Item{}}
	s.gate = partitions.New(partitions.Limits{Partitions: 64, PartitionWCU: 20, PartitionRCU: 1e6, Seed: seed, Now: time.Now})
	s.space = s.gate.NewSpace(partitions.Resource{Table: "orders"}, partitions.Throughput{})
	return s
}

// write changes an item, or returns its partition's throttle.
func (s *stored) write(pk, sk string, change func(table.Item) table.Item) error {
	time.Sleep(5 * time.Millisecond)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gate.Admit([]partitions.Charge{s.space.Place(pk).Writes(partitions.Unit)}) != nil {
		return libtest.Hot(libtest.TableHot)
	}
	if s.items[pk] == nil {
		s.items[pk] = map[string]table.Item{}
	}
	s.items[pk][sk] = change(s.items[pk][sk])
	return nil
}

func (s *stored) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, s.write(dynamo.Text(in.Item, "customer"), dynamo.Text(in.Item, "placed"), func(table.Item) table.Item { return in.Item })
}

// UpdateItem adds to a number.
func (s *stored) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	err := s.write(dynamo.Text(in.Key, "customer"), "", func(old table.Item) table.Item {
		before, _ := dynamo.Integer(old, "n")
		delta, _ := dynamo.Integer(in.ExpressionAttributeValues, ":d0")
		return table.Item{"customer": in.Key["customer"], "n": dynamo.Number(before + delta)}
	})
	return &dynamodb.UpdateItemOutput{}, err
}

// Query returns all items of a partition key.
func (s *stored) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &dynamodb.QueryOutput{}
	of := s.items[dynamo.Text(in.ExpressionAttributeValues, ":pk")]
	for _, sk := range slices.Sorted(maps.Keys(of)) {
		out.Items = append(out.Items, maps.Clone(of[sk]))
	}
	return out, nil
}

func (s *stored) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for name, keys := range in.RequestItems {
		for _, key := range keys.Keys {
			if it := s.items[dynamo.Text(key, "customer")][""]; it != nil {
				out.Responses[name] = append(out.Responses[name], it)
			}
		}
	}
	return out, nil
}

func (s *stored) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	panic("unexpected GetItem")
}

func (s *stored) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	panic("unexpected DeleteItem")
}

// program is a process with its own view and grower. Without a layout only its clicks are used.
type program struct {
	orders table.Table
	clicks table.Tally
}

func newProgram(t *testing.T, s *stored, shardMap *enginetest.MapTable, layout table.Layout, plain bool) *program {
	t.Helper()
	shards := shardmap.New(shardMap, "map", shardmap.Options{})
	grower, err := grow.New(shardmap.NewChanger(shardMap, shards, shardmap.ChangerOptions{}), grow.Options{
		Logger: slog.New(slog.DiscardHandler), Partitions: func(string) int { return 64 },
	})
	if err != nil {
		t.Fatal(err)
	}
	format := shard.Hash
	if plain {
		format = shard.HashShard
	}
	return &program{
		orders: table.Table{
			Client: s, Name: "orders", PartitionKey: "customer", SortKey: "placed", Layout: layout,
			Shards: shards, Observer: grower, Format: format, PlainFirst: plain,
		},
		clicks: table.Tally{
			Client: s, Table: "clicks", PartitionKey: "customer", Value: "n",
			Shards: shards, Observer: grower, Format: format, PlainFirst: plain,
		},
	}
}

// TestStorms checks that N grows until all requests are accepted, and that a reader finds each accepted item once. One busy
// process, or 40 with one request at a time, write 200 times a second for a minute to one name. The table has 64
// partitions of 20 WCU/s. The plain cases are of an adopted table.
func TestStorms(t *testing.T) {
	calculated := table.CalculatedSuffix{By: "order", Time: table.SortTime("placed", shard.Millis)}
	for _, programs := range []int{1, 40} {
		for _, c := range []struct {
			name   string
			layout table.Layout // nil is a Tally
			plain  bool
		}{
			{"a random suffix", table.RandomSuffix{}, false},
			{"a calculated suffix", calculated, false},
			{"hour buckets", table.TimeBuckets{Bucket: shard.Hour, By: "order"}, false},
			{"a tally", nil, false},
			{"a random suffix, plain", table.RandomSuffix{}, true},
			{"a calculated suffix, plain", calculated, true},
			{"a tally, plain", nil, true},
		} {
			t.Run(fmt.Sprintf("%d, %s", programs, c.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { storm(t, programs, c.layout, c.plain) })
			})
		}
	}
}

func storm(t *testing.T, programs int, layout table.Layout, plain bool) {
	const seconds, perSecond = 60, 200
	s, shardMap := newStored(1), enginetest.NewMapTable(100, 0, 5*time.Millisecond)
	free := make(chan *program, 2*perSecond*seconds) // programs that can start a request
	for range programs {
		p := newProgram(t, s, shardMap, layout, plain)
		for range perSecond * seconds / programs {
			if free <- p; programs > 1 {
				break // one request at a time
			}
		}
	}
	begin := time.Now()
	var accepted sync.Map
	var failed [seconds]atomic.Int64 // requests by second: throttled until the deadline, or without a free program
	var requests sync.WaitGroup
	for i := range seconds * perSecond {
		time.Sleep(time.Second / perSecond)
		select {
		case p := <-free:
			requests.Go(func() {
				defer func() { free <- p }()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				id := fmt.Sprint("order-", i)
				now := time.Now()
				err := error(nil)
				if layout == nil {
					err = p.clicks.Add(ctx, "acme", 1, now)
				} else {
					err = p.orders.Put(ctx, table.Item{
						"customer": dynamo.String("acme"), "placed": dynamo.String(shard.Millis.Key(now, "#", id)), "order": dynamo.String(id),
					}, now)
				}
				if err == nil {
					accepted.Store(id, true)
				} else {
					failed[i/perSecond].Add(1)
				}
			})
		default: // no program is free
			failed[i/perSecond].Add(1)
		}
	}
	requests.Wait()

	reader := newProgram(t, s, shardMap, layout, plain)
	want := 0
	accepted.Range(func(any, any) bool { want++; return true })
	if layout == nil {
		if sum, err := reader.clicks.Sum(t.Context(), []string{"acme"}, time.Now()); err != nil || sum.Cmp(big.NewInt(int64(want))) != 0 {
			t.Errorf("the sum is %v, %v; want %d", sum, err, want)
		}
	} else {
		for it, err := range reader.orders.Query(t.Context(), "acme", table.During(shard.Millis, begin, time.Now()), time.Now()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, there := accepted.LoadAndDelete(dynamo.Text(it, "order")); !there {
				t.Errorf("item %v was not accepted, or was read twice", it)
			}
		}
		accepted.Range(func(id, _ any) bool { t.Errorf("item %v is lost", id); return true })
	}
	all, calm := int64(0), 0 // the second from which on 99 % are accepted
	for i := range seconds {
		if n := failed[i].Load(); n > perSecond/100 {
			calm = i + 1
		}
		all += failed[i].Load()
	}
	history := changes(t, shardMap)
	t.Logf("%d of %d accepted; calm after %d s; N %v", want, seconds*perSecond, calm, history)
	// Random writes use a larger count at once.
	most, calmest := int64(seconds*perSecond/8), seconds
	if _, random := layout.(table.RandomSuffix); layout == nil || random {
		most, calmest = seconds*perSecond/100, 2
	}
	if all > most || calm > calmest || history[0] != 24 {
		t.Errorf("%d requests failed, want at most %d; calm after %d s, want %d; N %v, want 24 first", all, most, calm, calmest, history)
	}
}

// changes returns the counts of the only key that changed.
func changes(t *testing.T, shardMap *enginetest.MapTable) (counts []int) {
	t.Helper()
	list, err := shardmap.New(shardMap, "map", shardmap.Options{}).Since(t.Context(), time.Time{}, time.Now())
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, c := range list[0].History {
		counts = append(counts, c.Count)
	}
	return counts
}
