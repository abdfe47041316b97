package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// callTime is the time of all calls, after all items' times.
var callTime = libtest.Epoch.Add(24 * time.Hour)

// TestMigrationsUnderTraffic checks that a migration loses, duplicates and reverts no write of running programs.
func TestMigrationsUnderTraffic(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	a, b := libtest.Theirs(t, client, "S"), libtest.Theirs(t, client, "S")
	sharded := func(name string, format shard.Format, n table.Fixed, layout table.Layout) *table.Table {
		return &table.Table{Client: client, Name: name, PartitionKey: "customer", SortKey: "placed", Format: format, Shards: n, Layout: layout}
	}
	changed := func(name string, format shard.Format) *table.Table { // items after the change may be on two write shards
		t := sharded(name, format, 0, table.CalculatedSuffix{Time: table.SortTime("placed", "")})
		t.Shards = &libtest.Steps{History: shard.History{{Count: 2}, {At: libtest.Epoch.Add(time.Hour), Count: 9}}}
		return t
	}
	for name, c := range map[string]struct {
		from, to *table.Table
		lookup   bool
		cut      bool // even the short run interrupts the copy
	}{
		"grown in place":       {sharded(a, "", 4, table.CalculatedSuffix{}), sharded(a, "_", 9, table.CalculatedSuffix{}), true, true},
		"shrunk in place":      {sharded(a, "_", 9, table.CalculatedSuffix{}), sharded(a, shard.HashShard, 2, table.CalculatedSuffix{}), true, false},
		"sharded in place":     {sharded(a, "", 1, table.Unsharded{}), sharded(a, "", 5, table.CalculatedSuffix{}), true, false},
		"random to calculated": {sharded(a, "", 5, table.RandomSuffix{}), sharded(a, shard.HashShard, 3, table.CalculatedSuffix{}), false, false},
		"suffix to buckets":    {sharded(a, "", 3, table.CalculatedSuffix{}), sharded(a, "", 2, table.TimeBuckets{Bucket: shard.Hour, By: "placed"}), true, false},
		"from a map in place":  {changed(a, ""), sharded(a, "_", 4, table.CalculatedSuffix{}), true, false},
		"from a map":           {changed(a, ""), sharded(b, "", 4, table.CalculatedSuffix{}), true, true},
		"to a map in place":    {sharded(a, "_", 4, table.CalculatedSuffix{}), changed(a, ""), true, false},
		"buckets to hybrid":    {sharded(a, "", 3, table.TimeBuckets{Bucket: shard.Hour, By: "placed"}), sharded(b, "_", 4, table.HybridBuckets{Bucket: shard.Day}), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := lane.Runs(30, 110)
			if c.cut {
				old = 110
			}
			migrateAll(t, client, c.from, c.to, c.lookup, old)
		})
	}
}

// migrateAll runs all phases under traffic, and compares the items at the end with the accepted writes.
func migrateAll(t *testing.T, client *dynamodb.Client, from, to *table.Table, lookup bool, old int) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := &traffic{
		name: fmt.Sprintf("acme-%d", rand.Uint64()), lookup: lookup, want: map[string]int{},
		span: table.During(shard.Millis, libtest.Epoch, libtest.Epoch.Add(9*time.Hour)),
	}
	for range 3 {
		w.processes = append(w.processes, &process{m: migrate.Migration{Client: client, From: from, To: to}})
	}
	for i := range old {
		sort := shard.Millis.Key(libtest.Epoch.Add(time.Duration(i)*110*time.Minute/time.Duration(old)), "#", "old")
		w.old, w.want[sort] = append(w.old, sort), i
		if err := from.Put(ctx, table.Item{"customer": libtest.Str(w.name), "placed": libtest.Str(sort), "n": libtest.Num(int64(i))}, callTime); err != nil {
			t.Fatal(err)
		}
	}
	stop := make(chan struct{})
	group, working := errgroup.WithContext(ctx)
	w.ctx = working
	for worker := range 3 {
		group.Go(func() error { return w.writeItems(worker, stop) })
	}
	group.Go(func() error { return w.checkReads(stop) })
	err := w.phases()
	close(stop)
	if err := errors.Join(err, group.Wait()); err != nil {
		t.Fatal(err)
	}
	w.ctx = ctx
	w.checkEnd(t, from, to)
}

// phases takes the programs through all phases, with a copy that may be interrupted.
func (w *traffic) phases() error {
	first := w.processes[0].m
	if c, err := first.Verify(w.ctx, w.name, w.span, callTime); err != nil || !c.Equal() {
		return fmt.Errorf("before the first phase: %+v, %w", c, err)
	}
	w.enter(migrate.WriteBoth)
	copying := w.processes[0].m
	if w.lookup {
		if _, err := copying.Prune(w.ctx, w.name, w.span, callTime, nil); err != nil {
			return err
		}
	}
	if err := w.copy(&copying); err != nil {
		return err
	}
	for _, phase := range []migrate.Phase{migrate.WriteBoth, migrate.ReadNew} {
		w.enter(phase)
		m := w.processes[0].m
		c, err := m.Verify(w.ctx, w.name, w.span, callTime)
		if err != nil || !c.Equal() || c.Compared < len(w.old) {
			return fmt.Errorf("phase %d: %+v, %w", phase, c, err)
		}
	}
	w.enter(migrate.WriteNew)
	dropping := w.processes[0].m
	if _, err := dropping.DropAll(w.ctx, w.name, w.span, callTime, nil); err != nil {
		return err
	}
	w.waitForCalls()
	return nil
}

// copy copies all items. If there are more than a hundred, it interrupts a first copy at its first report.
func (w *traffic) copy(m *migrate.Migration) error {
	if len(w.old) > 100 {
		var reports []migrate.Progress
		interrupted := errors.New("interrupted")
		ctx, cut := context.WithCancelCause(w.ctx)
		_, err := m.Copy(ctx, w.name, w.span, callTime, func(p migrate.Progress) {
			reports = append(reports, p)
			cut(interrupted)
		})
		if err == nil {
			return fmt.Errorf("an interrupted copy returned no error: %v", reports)
		}
	}
	done, err := m.Copy(w.ctx, w.name, w.span, callTime, nil)
	if err != nil || done.Seen < len(w.old) {
		return fmt.Errorf("the copy read %d items: %w", done.Seen, err)
	}
	return nil
}

// checkEnd checks that the new table has all items, and the old one none.
func (w *traffic) checkEnd(t *testing.T, from, to *table.Table) {
	t.Helper()
	plain := migrate.Migration{Client: to.Client.(*dynamodb.Client), From: from, To: to, Phase: migrate.WriteNew}
	if got, err := w.read(&plain); err != nil || !maps.Equal(got, w.want) {
		t.Fatalf("%v; got %d items, want %d", err, len(got), len(w.want))
	}
	n, err := to.Count(t.Context(), w.name, w.span, callTime)
	if err != nil || n != len(w.want) {
		t.Fatalf("the new table has %d items, want %d: %v", n, len(w.want), err)
	}
	old := *from
	left := 0
	for _, err := range old.Query(t.Context(), w.name, w.span, callTime) {
		if left++; err != nil {
			t.Fatal(err)
		}
	}
	if left > 0 {
		t.Fatalf("%d old items are left", left)
	}
}
