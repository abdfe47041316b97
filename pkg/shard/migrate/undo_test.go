package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/setup"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// flaky returns a client whose writes fail at times, before or after they are applied.
func flaky(db *dynamodb.Client, random *rand.Rand) libtest.Faulty {
	return libtest.Faulty{Flaky: &libtest.Flaky{
		Client: db,
		Before: libtest.Sometimes(random, 30, &types.InternalServerError{Message: aws.String("not applied")}),
		After:  libtest.Sometimes(random, 30, &types.InternalServerError{Message: aws.String("applied")}),
	}}
}

// undoing is an adopted table, a program that writes items of one name, and the items that it stored.
type undoing struct {
	t       *testing.T
	db      *dynamodb.Client
	draw    *rand.Rand
	orders  *table.Table // of the program, whose writes may fail
	changer *shardmap.Changer
	items   map[string]int // each stored item's n, by sort key
	n       int
	now     atomic.Int64 // Unix milliseconds
}

var errKilled = errors.New("killed")

func newUndoing(t *testing.T, seed uint64, layout table.Layout) *undoing {
	db := enginetest.Client(t)
	u := &undoing{t: t, db: db, draw: rand.New(rand.NewPCG(seed, 1)), items: map[string]int{}}
	u.set(libtest.Later)
	u.orders = libtest.Orders(t, db, db, table.Unsharded{}, 1)
	mapName := u.orders.Name + "-map"
	if err := setup.CreateShardMap(t.Context(), db, mapName); err != nil {
		t.Fatal(err)
	}
	u.orders.Client = flaky(db, rand.New(rand.NewPCG(seed, 2)))
	u.orders.Shards = shardmap.New(db, mapName, shardmap.Options{})
	u.orders.Layout, u.orders.Format, u.orders.PlainFirst = layout, shard.HashShard, true
	u.changer = libtest.Patient(shardmap.NewChanger(db, shardmap.New(db, mapName, shardmap.Options{}), shardmap.ChangerOptions{}))
	return u
}

func (u *undoing) at() time.Time     { return time.UnixMilli(u.now.Load()).UTC() }
func (u *undoing) set(now time.Time) { u.now.Store(now.UnixMilli()) }

// retry repeats a write until it succeeds.
func (u *undoing) retry(write func() error) {
	u.t.Helper()
	for range 100 {
		err := write()
		if err == nil {
			return
		}
		if !errors.Is(err, shard.ErrUnavailable) {
			u.t.Error(err)
			return
		}
	}
	u.t.Error("a write failed a hundred times")
}

// order returns acme's order with this sort key.
func (u *undoing) order(sort string, n int) table.Item {
	return table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(sort), "n": libtest.Num(int64(n))}
}

// sell puts an order whose time is age ago.
func (u *undoing) sell(age time.Duration) {
	u.n++
	sort, n := shard.Millis.Key(u.at().Add(-age), "#", fmt.Sprint("order-", u.n)), u.n
	u.retry(func() error { return u.orders.Put(u.t.Context(), u.order(sort, n), u.at()) })
	u.items[sort] = n
}

// change puts, updates or deletes a stored order, and reads it back.
func (u *undoing) change() {
	u.t.Helper()
	list := slices.Sorted(maps.Keys(u.items))
	sort := list[u.draw.IntN(len(list))]
	u.n++
	n, key := u.n, u.order(sort, 0)
	delete(key, "n")
	switch u.draw.IntN(4) {
	case 0:
		u.retry(func() error { return u.orders.Put(u.t.Context(), u.order(sort, n), u.at()) })
		u.items[sort] = n
	case 1, 2:
		in := &dynamodb.UpdateItemInput{UpdateExpression: aws.String("SET n = :n"), ExpressionAttributeValues: table.Item{":n": libtest.Num(int64(n))}}
		u.retry(func() error {
			_, err := u.orders.Update(u.t.Context(), key, in, u.at())
			return err
		})
		u.items[sort] = n
	case 3:
		u.retry(func() error { return u.orders.Delete(u.t.Context(), key, u.at()) })
		delete(u.items, sort)
	}
	it, err := u.orders.Get(u.t.Context(), key, u.at())
	if want, there := u.items[sort]; there != (err == nil) || there && libtest.Text(it["n"]) != fmt.Sprint(want) || err != nil && !errors.Is(err, shard.ErrNotFound) {
		u.t.Errorf("order %s: read %v, %v; want n = %d, stored: %t", sort, it, err, want, there)
	}
}

// stored returns n of all items in the table, by partition key and sort key.
func (u *undoing) stored() map[string]map[string]int {
	all := map[string]map[string]int{}
	pages := dynamodb.NewScanPaginator(u.db, &dynamodb.ScanInput{TableName: &u.orders.Name, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(u.t.Context())
		if err != nil {
			u.t.Fatal(err)
		}
		for _, it := range page.Items {
			pk := libtest.Text(it["customer"])
			if all[pk] == nil {
				all[pk] = map[string]int{}
			}
			var n int
			_, _ = fmt.Sscan(libtest.Text(it["n"]), &n)
			all[pk][libtest.Text(it["placed"])] = n
		}
	}
	return all
}

// grow grows acme to count write shards, and sells orders before and after.
func (u *undoing) grow(count int) {
	for range 20 {
		u.sell(0)
	}
	entry, err := u.changer.Read(u.t.Context(), "acme")
	if err == nil {
		_, err = u.changer.GrowFrom(u.t.Context(), entry, count, shardmap.Note{By: "test"}, u.at())
	}
	if err != nil {
		u.t.Fatal(err)
	}
	u.set(u.at().Add(shardmap.LeadTime + time.Second))
	for range 80 {
		u.sell(0)
	}
}

// undo runs two Undo at a time until both report that acme is done. Each is killed after some moves. business makes the
// program's calls meanwhile.
func (u *undoing) undo(client migrate.Client, business func()) {
	u.t.Helper()
	for step := 0; ; step++ {
		business() // with the oldest view that a program may have
		var runs sync.WaitGroup
		var results [2]migrate.Undone
		var errs [2]error
		for i := range results {
			left := 1 + u.draw.IntN(30)
			undo := migrate.Undo{Client: client, Scanner: u.db, Table: u.orders, Changer: u.changer, Pace: func(_ context.Context, units int) error {
				if left--; units < 4 || left == 0 {
					return errKilled
				}
				return nil
			}}
			runs.Go(func() { results[i], errs[i] = undo.Step(u.t.Context(), "acme", u.at()) })
		}
		business()
		runs.Wait()
		done := true
		for i, err := range errs {
			if err != nil && !errors.Is(err, errKilled) && !errors.Is(err, shard.ErrUnavailable) && !errors.Is(err, shardmap.ErrNoChange) && !errors.Is(err, shardmap.ErrInUse) && !errors.Is(err, shard.ErrContended) {
				u.t.Fatal(err)
			}
			if done = done && err == nil && results[i].Wait.IsZero(); results[i].Wait.After(u.at()) {
				u.set(results[i].Wait)
			}
		}
		if done {
			return
		}
		if step > 200 {
			u.t.Fatalf("not done after 200 steps: %+v, %v", results, errs)
		}
	}
}

// TestUndo checks that an undo moves all items to the plain key, each once and as last written, and removes the name from
// the map. Meanwhile a program writes, reads and deletes, writes fail or have ambiguous results, and two undos at a time
// are killed and restarted.
func TestUndo(t *testing.T) {
	for name, layout := range map[string]table.Layout{
		"calculated": table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)}, "random": table.RandomSuffix{},
		"buckets": table.TimeBuckets{Bucket: shard.Minute, By: "placed"}, "random buckets": table.TimeBuckets{Bucket: shard.Day},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			u := newUndoing(t, seed, layout)
			u.grow(2 + u.draw.IntN(6))
			if before := u.stored(); len(before) < 2 {
				t.Fatalf("%d partition keys before the undo, want several", len(before))
			}
			u.undo(flaky(u.db, rand.New(rand.NewPCG(seed, 3))), func() {
				for range 5 {
					u.sell(0)
					if name == "calculated" || name == "buckets" {
						u.sell(time.Duration(u.draw.IntN(60)) * time.Minute)
						u.change()
					}
					u.now.Add(100)
				}
			})
			stored := u.stored()
			plain, sharded := map[string]int{}, 0
			for pk, items := range stored {
				if _, n := shard.HashShard.SplitPlain(pk); n == 0 {
					maps.Copy(plain, items)
				} else {
					sharded++
				}
			}
			if _, buckets := layout.(table.TimeBuckets); sharded > 0 || len(stored) != 1 && !buckets || !maps.Equal(plain, u.items) {
				t.Errorf("keys %v; %d items under plain keys, want %d", slices.Sorted(maps.Keys(stored)), len(plain), len(u.items))
			}
			u.set(u.at().Add(time.Minute))
			if e, err := u.orders.Shards.Lookup(t.Context(), "acme", u.at()); err != nil || e.Most() != 1 {
				t.Errorf("the map has %+v, %v; want 1 write shard", e, err)
			}
			all := table.During(shard.Millis, libtest.Later.Add(-2*time.Hour), u.at())
			if n, err := u.orders.Count(t.Context(), "acme", all, u.at()); err != nil || n != len(u.items) {
				t.Errorf("counted %d items, want %d, %v", n, len(u.items), err)
			}
		})
	}
}

// TestSlowUndo checks that a map change after long moves is dated after the moves. A Changer rejects an older time.
func TestSlowUndo(t *testing.T) {
	t.Parallel()
	u := newUndoing(t, 1, table.RandomSuffix{})
	u.orders.Client = u.db
	u.grow(3)
	var slept time.Duration
	undo := migrate.Undo{Client: u.db, Table: u.orders, Changer: u.changer, Pace: func(context.Context, int) error {
		time.Sleep(10 * time.Millisecond)
		slept += 10 * time.Millisecond
		return nil
	}}
	for {
		done, err := undo.Step(t.Context(), "acme", u.at())
		if err != nil {
			t.Fatal(err)
		}
		if done.Wait.IsZero() {
			break
		}
		u.set(done.Wait)
	}
	if e, err := u.changer.Read(t.Context(), "acme"); err != nil || slept == 0 || e.Updated.Before(u.at().Add(slept)) {
		t.Errorf("after moves of %v that began at %v the entry is %+v, %v; want a later time", slept, u.at(), e, err)
	}
}
