package grow_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// reachable is a shard map that counts its calls, and fails them while gone is set.
type reachable struct {
	*mapfake.Table
	gone  bool
	calls int
}

func (r *reachable) call() error {
	if r.calls++; r.gone {
		return &types.InternalServerError{Message: new("unavailable")}
	}
	return nil
}

func (r *reachable) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := r.call(); err != nil {
		return nil, err
	}
	return r.Table.GetItem(ctx, in, o...)
}

func (r *reachable) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := r.call(); err != nil {
		return nil, err
	}
	return r.Table.Query(ctx, in, o...)
}

// counted is a table that counts its puts and queries.
type counted struct {
	*stored
	puts, queries atomic.Int64
}

func (c *counted) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	c.puts.Add(1)
	return c.stored.PutItem(ctx, in, o...)
}

func (c *counted) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.queries.Add(1)
	return c.stored.Query(ctx, in, o...)
}

// TestColdNamesBesideManyHotOnes checks that cold names cost one put and one query beside 100,000 hot ones. While the map is
// unavailable for a minute, random puts go to the plain key, and other calls return ErrStale.
func TestColdNamesBesideManyHotOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shardMap := &reachable{Table: mapfake.New(10_000, time.Millisecond, time.Millisecond)}
		for i := range 100_000 {
			pk, sk := schema.MapKey(fmt.Sprint("customer-", i))
			it := dynamo.Key(pk, sk)
			it["shard_history"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.String("1:16")}}
			it["version"] = dynamo.Number(1)
			shardMap.Put(it)
		}
		db := &counted{stored: newStored(1)}
		shards := shardmap.New(shardMap, "map", shardmap.Options{})
		if err := shards.Load(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if e, err := shards.Lookup(t.Context(), "customer-77", time.Now()); err != nil || e.Most() != 16 {
			t.Fatalf("a hot name: %+v, %v; want 16 write shards", e, err)
		}
		random := table.Table{
			Client: db, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: shards,
			Layout: table.RandomSuffix{}, Format: shard.HashShard, PlainFirst: true,
		}
		calculated := random
		calculated.Layout = table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)}
		put := func(t *testing.T, orders *table.Table, name string) error {
			now := time.Now()
			return orders.Put(t.Context(), table.Item{"customer": dynamo.String(name), "placed": dynamo.String(shard.Millis.Key(now, "#", name))}, now)
		}
		shardMap.calls = 0
		begin := time.Now()
		for i := range 100 {
			orders, name := &calculated, fmt.Sprint("cold-", i)
			if i%2 == 0 {
				orders = &random
			}
			n := 0
			err := put(t, orders, name)
			for _, failed := range orders.Query(t.Context(), name, table.Span{}, time.Now()) {
				n, err = n+1, errors.Join(err, failed)
			}
			if err != nil || n != 1 {
				t.Fatalf("%s: %d items, %v; want 1", name, n, err)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if polls := 1 + int(time.Since(begin)/time.Second); db.puts.Load() != 100 || db.queries.Load() != 100 || shardMap.calls > 2*polls {
			t.Errorf("100 names: %d puts, %d queries, %d reads of the map in %v; want 100, 100 and 2 reads a second at most", db.puts.Load(), db.queries.Load(), shardMap.calls, time.Since(begin))
		}
		shardMap.gone = true
		time.Sleep(2 * shardmap.ViewAge)
		for out := time.Now(); time.Since(out) < time.Minute; time.Sleep(10 * time.Second) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, counting := random.Count(ctx, "cold-0", table.Span{}, time.Now())
			cancel()
			if err := put(t, &random, "cold-0"); err != nil || !errors.Is(counting, shard.ErrStale) {
				t.Errorf("map unavailable: a random put: %v; Count: error %v, want ErrStale", err, counting)
			}
			if err := put(t, &calculated, "cold-1"); !errors.Is(err, shard.ErrStale) {
				t.Errorf("map unavailable: a calculated put: error %v, want ErrStale", err)
			}
		}
		shardMap.gone = false
		time.Sleep(2 * shardmap.ViewAge)
		n := 0
		for _, err := range random.Query(t.Context(), "cold-0", table.Span{}, time.Now()) {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if err := put(t, &calculated, "cold-1"); n < 2 || err != nil {
			t.Errorf("map available again: %d items, want several; a calculated put: %v", n, err)
		}
	})
}
