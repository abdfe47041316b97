package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestCostOfSessions checks the read and write units of each call, without reads of the shard map.
func TestCostOfSessions(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	client, limits := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 100_000})
	s := d.process(client, nil)
	lease := sessions.Lease{Group: "g", ID: "z", TTL: 10 * time.Hour, Data: data("d")}
	type price struct{ Read, Table, Index float64 }
	costs := func(what string, want price, do func()) {
		t.Helper()
		limits.Reset()
		do()
		stats := limits.Stats()
		got := price{Read: stats.ReadUnits}
		for _, space := range stats.Spaces {
			if space.Index == schema.ByGroup {
				got.Index += space.WriteUnits
			} else {
				got.Table += space.WriteUnits
			}
		}
		if got != want {
			t.Errorf("%s costs %+v, want %+v", what, got, want)
		}
	}
	now := later
	ended := func() {
		now = now.Add(time.Second)
		if err := s.End(libtest.Within(t), "g", "z", now); err != nil {
			t.Error(err)
		}
	}
	active := func(now time.Time, want int) func() {
		return func() {
			if n, err := s.Active(libtest.Within(t), "g", now); err != nil || n != want {
				t.Errorf("Active = %d, %v; want %d", n, err, want)
			}
		}
	}
	put(t, s, lease, now) // reads the shard map
	ended()
	now = now.Add(time.Second)
	costs("new", price{0, 1, 1}, func() { put(t, s, lease, now) })
	now = now.Add(time.Second)
	costs("renewed", price{0, 1, 1}, func() { put(t, s, lease, now) })
	costs("read", price{1, 0, 0}, func() { _, _ = s.Get(libtest.Within(t), "g", "z", now) })
	costs("counted", price{0.5, 0, 0}, active(now, 1))
	costs("ended", price{0, 1, 1}, ended)
	costs("ended again", price{0, 1, 0}, ended)
	lease.Data = item{"text": libtest.Str(strings.Repeat("x", 3000))}
	now = now.Add(time.Second)
	costs("new, of 3 KB", price{0, 4, 1}, func() { put(t, s, lease, now) })
	costs("ended, of 3 KB", price{0, 4, 1}, ended)
	lease.TTL, lease.Data = time.Second, data("d")
	now = now.Add(time.Second)
	put(t, s, lease, now)
	now = now.Add(time.Minute)
	lease.TTL = 10 * time.Hour
	costs("started again, before TTL deleted it", price{0, 2, 1}, func() { put(t, s, lease, now) })
	d.pin(t, "g", 5, now.Add(10*time.Second))
	now = now.Add(time.Minute)
	_, _ = s.Put(libtest.Within(t), sessions.Lease{Group: "g", ID: "other", TTL: time.Second}, now) // renews the view
	costs("renewed, first after a change", price{0, 1, 2}, func() { put(t, s, lease, now) })
	now = now.Add(time.Second)
	costs("renewed after the change", price{0, 1, 1}, func() { put(t, s, lease, now) })
	costs("counted after the change", price{2 * 5 * 0.5, 0, 0}, active(now.Add(slowest), 1))
	now = now.Add(sessions.MaxTTL + time.Hour)
	costs("counted long after the change", price{5 * 0.5, 0, 0}, active(now, 0))
}

// TestEveryWriteOfSessionIsObserved checks that a call's accepted attempts and throttles of the index's partition are
// observed with one call number.
func TestEveryWriteOfSessionIsObserved(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.pin(t, "g", 5, later.Add(-time.Hour))
	lease := sessions.Lease{Group: "g", ID: "z", TTL: time.Hour}
	view := d.view() // loaded, since a write waits at most a quarter of a second
	if err := view.Load(libtest.Within(t), later); err != nil {
		t.Fatal(err)
	}
	process := func(client libtest.Faulty, w *libtest.Observed) *sessions.Store {
		return sessions.New(client, d.Names.Items, view, sessions.Options{Observer: w})
	}
	const accepted, throttled = "S#g 4 accepted by 1", "S#g 4 throttled by 1"
	for name, c := range map[string]struct {
		reason string
		want   []string
	}{
		"accepted":          {"", []string{accepted}},
		"a full partition":  {libtest.IndexHot, []string{accepted, throttled}},
		"the session's own": {libtest.TableHot, []string{accepted}}, // more write shards don't help
		"a full index":      {"IndexWriteMaxOnDemandThroughputExceeded", []string{accepted}},
	} {
		for what, do := range map[string]func(libtest.Faulty, *libtest.Observed) error{
			"put": func(client libtest.Faulty, w *libtest.Observed) error {
				_, err := process(client, w).Put(libtest.Within(t), lease, later)
				return err
			},
			"end": func(client libtest.Faulty, w *libtest.Observed) error {
				return process(client, w).End(libtest.Within(t), "g", "z", later)
			},
		} {
			w, left := libtest.NewObserved(), 3
			client := d.faulty(func() error {
				if left--; c.reason != "" && left > 0 {
					return libtest.Hot(c.reason)
				}
				return nil
			}, nil)
			if err := do(client, w); err != nil || w.ByKey["S#g"] != 1 || !slices.Equal(w.Shown(), c.want) {
				t.Errorf("%s, %s: %v, %d calls, observed %v; want %v", what, name, err, w.ByKey["S#g"], w.Shown(), c.want)
			}
		}
	}
	for what, action := range map[string]func(context.Context) (shardmap.Write, error){
		"a keyed put": func(ctx context.Context) (shardmap.Write, error) {
			action, _, err := d.store().PutTransact(ctx, lease, later)
			return action, err
		},
		"a keyed end": func(ctx context.Context) (shardmap.Write, error) {
			return d.store().EndTransact(ctx, "g", "z", later.Add(time.Second)), nil
		},
	} {
		w := libtest.NewObserved()
		if err := d.once(libtest.Within(t), d.Client, w, what, later, action); err != nil || w.ByKey["S#g"] != 1 || !slices.Equal(w.Shown(), []string{accepted}) {
			t.Errorf("%s: %v, %d calls, observed %v; want one call with %q", what, err, w.ByKey["S#g"], w.Shown(), accepted)
		}
	}
}

// TestHotIndexIsObservedWithAndWithoutKeys checks that keyed and other puts observe a full partition of the index. The
// limiter's clock stands still. No probe is counted as a session.
func TestHotIndexIsObservedWithAndWithoutKeys(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	client, _ := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 5, PartitionRCU: 1000, Now: func() time.Time { return later }})
	lease := func(i int) sessions.Lease {
		return sessions.Lease{Group: "g", ID: fmt.Sprint("id", i), TTL: time.Hour}
	}
	begun := 0
	for ; begun < 6; begun++ {
		ctx, cancel := context.WithCancel(libtest.Within(t))
		w := libtest.NewObserved()
		w.Act = cancel
		_, err := d.process(client, w).Put(ctx, lease(begun), later)
		cancel()
		if errors.Is(err, shard.ErrThrottled) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for what, send := range map[string]func(context.Context, shard.Observer) error{
		"a put": func(ctx context.Context, w shard.Observer) error {
			_, err := d.process(client, w).Put(ctx, lease(7), later)
			return err
		},
		"a keyed put": func(ctx context.Context, w shard.Observer) error {
			return d.once(ctx, client, w, "k", later, func(ctx context.Context) (shardmap.Write, error) {
				action, _, err := d.store().PutTransact(ctx, lease(8), later)
				return action, err
			})
		},
	} {
		ctx, cancel := context.WithCancel(libtest.Within(t))
		w := libtest.NewObserved()
		w.Act = cancel // the partition stays full
		err := send(ctx, w)
		cancel()
		if !errors.Is(err, shard.ErrThrottled) || !slices.Contains(w.Shown(), "S#g 0 throttled by 0") {
			t.Errorf("%s: error %v, observed %v; want ErrThrottled and S#g 0 throttled", what, err, w.Shown())
		}
	}
	check(t, d.reader(d.Client), "g", later, begun)
}
