package limits_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// touched counts the writes of each partition key.
type touched struct {
	*dynamodb.Client
	mu     sync.Mutex
	writes map[string]int
}

func (c *touched) count(key map[string]types.AttributeValue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes[key["pk"].(*types.AttributeValueMemberS).Value]++
}

func (c *touched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.count(in.Key)
	return c.Client.UpdateItem(ctx, in, o...)
}

func (c *touched) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, a := range in.TransactItems {
		if a.Update != nil {
			c.count(a.Update.Key)
		}
	}
	return c.Client.TransactWriteItems(ctx, in, o...)
}

// TestHitsUseNewWriteShardsAtOnce checks that Hit and HitN use new write shards as soon as the count grows within a
// window.
func TestHitsUseNewWriteShardsAtOnce(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	client := &touched{Client: d.Client, writes: map[string]int{}}
	for key, hit := range map[string]func(*limits.Limiter, limits.Limit, time.Time) (limits.Verdict, error){
		"hit": func(l *limits.Limiter, limit limits.Limit, now time.Time) (limits.Verdict, error) {
			return l.Hit(libtest.Within(t), limit, now)
		},
		"hitn": func(l *limits.Limiter, limit limits.Limit, now time.Time) (limits.Verdict, error) {
			return l.HitN(libtest.Within(t), limit, 3, now)
		},
	} {
		l, now := d.limiter(client, nil), libtest.Later.Add(time.Hour)
		limit := limits.Limit{Key: key, Max: 100_000, Window: 24 * time.Hour}
		mustHit(t, l, limit, now)
		if _, err := libtest.Grow(libtest.Within(t), d.Changer(shardmap.ChangerOptions{}), "R#"+key, 10, now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(4 * time.Second) // before the change takes effect for events
		clear(client.writes)
		const calls = 150
		for range calls {
			if v, err := hit(l, limit, now); err != nil || !v.Allowed {
				t.Fatalf("%s: %+v, %v", key, v, err)
			}
		}
		first := fmt.Sprintf("R#%s#86400#%d#0", key, l.Start(limit, now).Unix())
		if n := client.writes[first]; n > calls/4 || len(client.writes) != 10 {
			t.Errorf("%s: %d of %d calls wrote to the first write shard; writes: %v", key, n, calls, client.writes)
		}
		hits := map[string]int64{"hit": 1, "hitn": 3}[key]
		if used := d.used(t, l, limit, now, 10); used != calls*hits+1 {
			t.Errorf("%s: %d used, want %d", key, used, calls*hits+1)
		}
	}
}

// TestHitsAreObserved checks that observers get each request, its attempts and their throttles, and that a throttled hit
// goes to another write shard.
func TestHitsAreObserved(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "R#wide", "1:8")
	for _, c := range []struct {
		key      string
		hits     int
		max      int64
		reason   string
		requests int
		accepted int
		refused  int // throttled write shards, at least
	}{
		{"k", 3, 5, "", 3, 3, 0},
		{"full", 5, 2, "", 2, 2, 0}, // a window that is known to be full costs no request
		{"full", 5, 2, "", 1, 1, 0}, // another process needs one request
		{"hot", 1, 5, libtest.TableHot, 1, 1, 1},
		{"wide", 1, 800, libtest.TableHot, 1, 1, 2},
		{"table", 1, 5, "TableWriteAccountLimitExceeded", 1, 1, 0},
	} {
		w, left := libtest.NewObserved(), 10
		client := libtest.Faulty{Flaky: &libtest.Flaky{Client: d.Client, Before: func() error {
			if left--; c.reason != "" && left > 0 {
				return libtest.Hot(c.reason)
			}
			return nil
		}}}
		if c.reason != "" && c.key != "wide" {
			left = 3
		}
		l := d.limiter(client, w)
		for range c.hits {
			mustHit(t, l, limits.Limit{Key: c.key, Max: c.max, Window: time.Minute}, libtest.Later)
		}
		accepted := 0
		for _, a := range w.Attempts {
			if a.Outcome == shard.Accepted {
				accepted++
			}
		}
		refused := len(w.Refused())
		if w.ByKey["R#"+c.key] != c.requests || accepted != c.accepted || refused < c.refused || c.refused == 0 && refused > 0 {
			t.Errorf("%s: requests %v, attempts %v; want %d requests, %d accepted, %d throttled write shards", c.key, w.ByKey, w.Shown(), c.requests, c.accepted, c.refused)
		}
	}
}

// TestCostOfHits bounds the read and write units of hits, as the partition limiter counts them.
func TestCostOfHits(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "R#wide", "1:8")
	client, partitions := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 100_000})
	type price struct{ Read, Write float64 }
	cost := func(do func()) price {
		partitions.Reset()
		do()
		stats := partitions.Stats()
		got := price{Read: stats.ReadUnits}
		for _, space := range stats.Spaces {
			got.Write += space.WriteUnits
		}
		return got
	}
	hits := func(l *limits.Limiter, limit limits.Limit, n int) func() {
		return func() {
			for range n {
				mustHit(t, l, limit, libtest.Later)
			}
		}
	}
	d.SetShards(t, "R#grown", fmt.Sprintf("%d:10", libtest.Later.Unix()+1))
	keyed := func(key string, n int) func() {
		l, applier := d.limiter(client, nil), once.New(client, d.Names.Items, once.Options{})
		return func() {
			for i := range n {
				keyedHit(t, l, applier, fmt.Sprint(key, i), limits.Limit{Key: key, Max: 1000, Window: time.Hour})
			}
		}
	}
	l := d.limiter(client, nil)
	one, wide := limits.Limit{Key: "one", Max: 10, Window: time.Minute}, limits.Limit{Key: "wide", Max: 80, Window: time.Minute}
	hits(l, one, 1)() // reads the shard map
	for _, c := range []struct {
		what        string
		got         price
		read, write float64 // at most
	}{
		{"allowed", cost(hits(l, one, 9)), 0, 9},
		{"rejected", cost(hits(l, one, 100)), 0, 0},
		{"by another process", cost(hits(d.limiter(client, nil), one, 100)), 0, 1},
		{"allowed over 8 write shards", cost(hits(l, wide, 20)), 8 * 0.5, 20},
		{"until full", cost(hits(l, wide, 60)), 4 * 8, 60 + 8},
		{"rejected over 8 write shards", cost(hits(l, wide, 100)), 0, 0},
		{"by another process", cost(hits(d.limiter(client, nil), wide, 100)), 8, 3},
		{"ten keyed hits over 8 write shards", cost(keyed("wide", 10)), 8 * 10, 4 * 10},
		{"ten keyed hits, some with transfers", cost(keyed("grown", 10)), 10 * 10, 6 * 10},
	} {
		if c.got.Read > c.read || c.got.Write > c.write {
			t.Errorf("%s: %+v, want at most %v read and %v write units", c.what, c.got, c.read, c.write)
		}
	}
}
