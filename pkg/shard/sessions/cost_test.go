package sessions_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestAGroupsHeatIsTold: each request, what is written and what a full partition refuses,
// with and without keys.
func TestAGroupsHeatIsTold(t *testing.T) {
	d := deploy(t)
	d.SetShards(t, "S#g", "1:5")
	lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}
	for name, c := range map[string]struct {
		keyed  bool
		reason string
		told   []string
	}{
		"taken":            {false, "", []string{"S#g 4 taken by 1"}},
		"keyed":            {true, "", []string{"S#g 4 taken by 1"}},
		"a full partition": {false, wingtest.TableHot, []string{"S#g 4 over its limit by 1", "S#g 4 taken by 1"}},
		"a full table":     {false, "TableWriteAccountLimitExceeded", []string{"S#g 4 taken by 1"}},
	} {
		w, left := wingtest.NewWatched(), 3
		client := wingtest.Faulty{Flaky: &wingtest.Flaky{Client: d.Client, Before: func() error {
			if left--; c.reason != "" && left > 0 {
				return wingtest.Hot(c.reason)
			}
			return nil
		}}}
		s := d.sessions(client, w)
		if c.keyed {
			call := once.Call{Key: name, Digest: []byte("d"), Answer: []byte("a")}
			_, err := once.New(client, d.Names.Items, d.Shards, once.Options{Watch: w}).Do(wingtest.Within(t), call, wingtest.Later, func(ctx context.Context) ([]types.TransactWriteItem, error) {
				actions, _, err := s.PutTransact(ctx, lease, wingtest.Later)
				return actions, err
			})
			if err != nil {
				t.Fatal(err)
			}
		} else {
			put(t, s, lease, wingtest.Later)
		}
		if w.ByKey["S#g"] != 1 || len(w.ByKey) != 1 || !slices.Equal(w.Told(), c.told) {
			t.Errorf("%s: requests %v, attempts %v; want %v", name, w.ByKey, w.Told(), c.told)
		}
	}
}

// TestWhatSessionsCost by the limiter's count.
func TestWhatSessionsCost(t *testing.T) {
	d := deploy(t)
	client, limits := d.Limited(t, limiter.Options{Partitions: 64, PartitionWCU: 100_000})
	s := d.sessions(client, shardmap.Unwatched{})
	lease := sessions.Lease{Group: "g", ID: "z", TTL: 10 * time.Hour, Data: textData("d")}
	type price struct{ Read, Write float64 }
	costs := func(what string, want price, do func()) {
		t.Helper()
		limits.Reset()
		do()
		stats := limits.Stats()
		got := price{Read: stats.ReadUnits}
		for _, space := range stats.Spaces {
			got.Write += space.WriteUnits
		}
		if got != want {
			t.Errorf("%s costs %+v, want %+v", what, got, want)
		}
	}
	checked := func(n int, now time.Time) func() {
		return func() { checkActive(t, s.Reader, "g", now, n) }
	}
	now := wingtest.Later
	checked(0, now)() // reads the shard map
	costs("new", price{0, 1}, func() { put(t, s, lease, now) })
	costs("renewed", price{0, 1}, func() { put(t, s, lease, now) })
	costs("counted twice", price{1, 0}, checked(1, now))
	costs("ended", price{0, 1}, func() { _ = s.End(wingtest.Within(t), "g", "z", now) })
	put(t, s, lease, now)
	now = d.Pin(t, "S#g", 5, now)
	_, _ = s.Get(wingtest.Within(t), "g", "z", now) // renews the view
	costs("moved", price{2, 1 + 4}, func() { put(t, s, lease, now) })
	costs("renewed after the change", price{0, 1}, func() { put(t, s, lease, now) })
	lease.ID = "z2"
	costs("new a second after", price{2, 1 + 4}, func() { put(t, s, lease, now) })
	now = now.Add(5 * time.Second)
	_, _ = s.Get(wingtest.Within(t), "g", "z", now)
	lease.ID = "z6"
	costs("new five seconds after", price{2, 1 + 1}, func() { put(t, s, lease, now) })
	costs("ended after the change", price{2, 1}, func() { _ = s.End(wingtest.Within(t), "g", "z6", now) })
	costs("ended after it moved", price{2, 1}, func() { _ = s.End(wingtest.Within(t), "g", "z", now) })
	costs("looked up after that", price{2 * 2, 0}, func() { _, _ = s.Get(wingtest.Within(t), "g", "z", now) })
}

// lookUps counts the look-ups of single sessions.
type lookUps struct {
	*dynamodb.Client
	n atomic.Int64
}

func (l *lookUps) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	l.n.Add(1)
	return l.Client.BatchGetItem(ctx, in, o...)
}

// TestOldTracesCostNoLookUps: sessions that moved and ended, of which traces are left,
// can't have moved behind a reading that began long after that.
func TestOldTracesCostNoLookUps(t *testing.T) {
	d := deploy(t)
	s, now := d.sessions(d.Client, shardmap.Unwatched{}), wingtest.Later
	const ids = 10
	all := func() {
		for i := range ids {
			put(t, s, sessions.Lease{Group: "g", ID: fmt.Sprint(i), TTL: time.Second}, now)
		}
	}
	all()
	now = d.Pin(t, "S#g", 5, now)
	all()
	client := &lookUps{Client: d.Client}
	for after, want := range map[time.Duration]bool{slowest + 5*time.Second: true, 100 * time.Second: false} {
		client.n.Store(0)
		reader := sessions.NewReader(client, d.Names.Items, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}))
		n, err := reader.Active(wingtest.Within(t), "g", now.Add(after))
		if err != nil || n != 0 || (client.n.Load() > 0) != want {
			t.Errorf("%v after the moves: %d active, %v; %d look-ups", after, n, err, client.n.Load())
		}
	}
}
