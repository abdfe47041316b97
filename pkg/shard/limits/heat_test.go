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

// touched counts what is written to each partition.
type touched struct {
	*dynamodb.Client
	mu     sync.Mutex
	writes map[string]int
}

func (c *touched) note(key map[string]types.AttributeValue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes[key["pk"].(*types.AttributeValueMemberS).Value]++
}

func (c *touched) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.note(in.Key)
	return c.Client.UpdateItem(ctx, in, o...)
}

func (c *touched) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, a := range in.TransactItems {
		if a.Update != nil {
			c.note(a.Update.Key)
		}
	}
	return c.Client.TransactWriteItems(ctx, in, o...)
}

// TestAHotWindowIsRelievedAtOnce checks that hits use new write shards as soon as the count grows within
// a window.
func TestAHotWindowIsRelievedAtOnce(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	client := &touched{Client: d.Client, writes: map[string]int{}}
	l, limit := d.limiter(client, nil), limits.Limit{Key: "k", Max: 100_000, Window: 24 * time.Hour}
	now := libtest.Later.Add(time.Hour)
	mustHit(t, l, limit, now)
	if _, err := libtest.Grow(libtest.Within(t), d.Changer(shardmap.ChangerOptions{}), "R#k", 10, now); err != nil {
		t.Fatal(err)
	}
	now = now.Add(4 * time.Second) // before the change is in force for events
	clear(client.writes)
	const hits = 300
	for range hits {
		if v := mustHit(t, l, limit, now); !v.Allowed {
			t.Fatalf("%+v", v)
		}
	}
	first := fmt.Sprintf("R#k#86400#%d#0", l.Start(limit, now).Unix())
	if n := client.writes[first]; n > hits/4 || len(client.writes) != 10 {
		t.Errorf("of %d hits %d went to the first write shard; in all %v", hits, n, client.writes)
	}
	if used := d.used(t, l, limit, now, 10); used != hits+1 {
		t.Errorf("%d used", used)
	}
}

// TestALimitsHeatIsObserved checks that throttles are observed, and that a throttled hit goes to another
// write shard.
func TestALimitsHeatIsObserved(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "R#wide", "1:8")
	for _, c := range []struct {
		key      string
		hits     int
		max      int64
		reason   string
		requests int
		taken    int
		refused  int // write shards
	}{
		{"k", 3, 5, "", 3, 3, 0},
		{"full", 5, 2, "", 2, 2, 0}, // what is known to be full costs nothing
		{"full", 5, 2, "", 1, 1, 0}, // another process finds out once
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
		taken := 0
		for _, a := range w.Attempts {
			if a.Outcome == shard.Accepted {
				taken++
			}
		}
		refused := len(w.Refused())
		if w.ByKey["R#"+c.key] != c.requests || taken != c.taken || refused < c.refused || c.refused == 0 && refused > 0 {
			t.Errorf("%s: requests %v, attempts %v", c.key, w.ByKey, w.Shown())
		}
	}
}

// TestWhatHitsCost checks the units of hits by the partition limiter's count.
func TestWhatHitsCost(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "R#wide", "1:8")
	client, limiter2 := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 100_000})
	type price struct{ Read, Write float64 }
	cost := func(do func()) price {
		limiter2.Reset()
		do()
		stats := limiter2.Stats()
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
		l, keyed2 := d.limiter(client, nil), once.New(client, d.Names.Items, once.Options{})
		return func() {
			for i := range n {
				keyedHit(t, l, keyed2, fmt.Sprint(key, i), limits.Limit{Key: key, Max: 1000, Window: time.Hour})
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
		{"refused", cost(hits(l, one, 100)), 0, 0},
		{"by another process", cost(hits(d.limiter(client, nil), one, 100)), 0, 1},
		{"allowed over 8 write shards", cost(hits(l, wide, 20)), 8 * 0.5, 20},
		{"until full", cost(hits(l, wide, 60)), 4 * 8, 60 + 8},
		{"refused over 8 write shards", cost(hits(l, wide, 100)), 0, 0},
		{"by another process", cost(hits(d.limiter(client, nil), wide, 100)), 8, 3},
		{"ten with keys over 8 write shards", cost(keyed("wide", 10)), 8 * 10, 4 * 10},
		{"ten with keys, some of which take over", cost(keyed("grown", 10)), 10 * 10, 6 * 10},
	} {
		t.Logf("%-39s %+v", c.what, c.got)
		if c.got.Read > c.read || c.got.Write > c.write {
			t.Errorf("%s: %+v, want at most %v and %v", c.what, c.got, c.read, c.write)
		}
	}
}
