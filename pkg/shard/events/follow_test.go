package events_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// entryReads is a client of the shard map that counts the reads of entries.
type entryReads struct {
	*dynamodb.Client
	made atomic.Int64
}

func (e *entryReads) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	e.made.Add(1)
	return e.Client.GetItem(ctx, in, o...)
}

// ledger has the events that were accepted, in that order.
type ledger struct {
	mu       sync.Mutex
	accepted []string // sort keys
}

// write puts new events until the context ends.
func (l *ledger) write(ctx context.Context, t *testing.T, writer *events.Writer, entity string, n int) {
	for i := 0; ctx.Err() == nil; i++ {
		now := time.Now().UTC().Truncate(time.Millisecond)
		ev := events.Event{Entity: entity, ID: fmt.Sprint(n, "-", i), Time: now, New: true}
		if err := errors.Join(writer.Put(libtest.Within(t), []events.Event{ev}, now)...); err != nil {
			t.Error(err)
			return
		}
		l.mu.Lock()
		l.accepted = append(l.accepted, schema.EventSortKey(ev.Time, ev.ID))
		l.mu.Unlock()
	}
}

// follow asks for the page after the last cursor every 50 ms. Each page must have all events between its cursors that
// were accepted before it. It returns the number of pages, and of accepted events that the cursor passed before.
func (l *ledger) follow(ctx context.Context, t *testing.T, reader *events.Reader, entity string) (pages, seen int) {
	r := events.Range{Entity: entity, From: time.Now().Add(-time.Hour), Limit: 10}
	for ctx.Err() == nil {
		l.mu.Lock()
		known := len(l.accepted)
		l.mu.Unlock()
		r.To = time.Now().Add(time.Minute)
		page, err := reader.Query(libtest.Within(t), r, time.Now())
		require.NoError(t, err)
		found := map[string]bool{}
		for _, ev := range page.Events {
			found[schema.EventSortKey(ev.Time, ev.ID)] = true
		}
		for _, sk := range l.accepted[:known] {
			if sk > r.After && (sk <= page.Next || page.Next == "" && r.After != "") && !found[sk] { // without cursors it may lag
				t.Errorf("%s: the page from %q to %q lacks %s", entity, r.After, page.Next, sk)
			}
		}
		pages, seen = pages+1, seen+len(page.Events)
		if page.Next != "" {
			r.After = page.Next
		}
		time.Sleep(50 * time.Millisecond)
	}
	return pages, seen
}

// TestFollowingThroughGrowths checks that a reader which asks for the next page every 50 ms misses no event while N grows
// from 1 to 24 and 64. Three programs write, each with its own view. It counts the reads of entries: one for each page
// with a cursor.
func TestFollowingThroughGrowths(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	var pages, accepted, reads atomic.Int64
	rounds := make(chan int, require.Runs(4, 100))
	for i := range cap(rounds) {
		rounds <- i
	}
	close(rounds)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for i := range rounds {
				entity, l := fmt.Sprint("followed-", i), &ledger{}
				ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
				var writers sync.WaitGroup
				for n := range 3 {
					view := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
					writers.Go(func() { l.write(ctx, t, events.NewWriter(d.Client, d.Names.Events, view, events.Options{}), entity, n) })
					if n == 0 {
						changer := libtest.Patient(shardmap.NewChanger(d.Client, view, shardmap.ChangerOptions{}))
						for at, count := range map[time.Duration]int{500 * time.Millisecond: 24, 1500 * time.Millisecond: 64} {
							time.AfterFunc(at, func() { _, _ = libtest.Grow(ctx, changer, events.Key(entity), count, time.Now()) })
						}
					}
				}
				counted := &entryReads{Client: d.Client}
				view := shardmap.New(counted, d.Names.ShardMap, shardmap.Options{})
				n, _ := l.follow(ctx, t, events.NewReader(d.Client, d.Names.Events, view), entity)
				writers.Wait()
				cancel()
				entry, err := view.Read(libtest.Within(t), events.Key(entity))
				if err != nil || entry.Most() != 64 {
					t.Errorf("%s has %d write shards, %v; want 64", entity, entry.Most(), err)
				}
				if got := int(counted.made.Load()); got > n+1 {
					t.Errorf("%s: %d reads of entries for %d pages, want at most one each", entity, got, n)
				}
				pages.Add(int64(n))
				accepted.Add(int64(len(l.accepted)))
				reads.Add(counted.made.Load())
			}
		})
	}
	group.Wait()
	t.Logf("%d rounds: %d events, %d pages, %d reads of entries", cap(rounds), accepted.Load(), pages.Load(), reads.Load())
}

// TestReadUnitsOfEvents checks what a page without a cursor, the same with one, and a look-up cost: read units of the
// events' table, and of the shard map.
func TestReadUnitsOfEvents(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	client, meter := d.Limited(t, throttle.Options{Partitions: 4, PartitionWCU: 1000, PartitionRCU: 3000})
	now := libtest.Later
	d.SetShards(t, "E#grown", fmt.Sprintf("%d:24", now.Add(-time.Hour).Unix()))
	for _, key := range []string{"E#growing", "E#growing at once"} {
		d.SetShards(t, key, fmt.Sprintf("%d:24", now.Add(2*time.Second).Unix()))
	}
	for _, c := range []struct {
		entity string
		isNew  bool
		want   []float64 // a page, a full page, a page with a cursor, a look-up, a look-up of an event that is not there
	}{
		{"plain", true, []float64{0.5, 1.5, 1.5, 1, 2}},
		{"grown", true, []float64{12, 13, 13, 1, 2}},
		{"growing", false, []float64{12, 13.5, 13, 1, 3}},
		{"growing at once", true, []float64{12, 13, 13, 2, 3}},
	} {
		view := shardmap.New(client, d.Names.ShardMap, shardmap.Options{})
		require.NoError(t, view.Load(libtest.Within(t), now))
		list := []events.Event{{Entity: c.entity, ID: "b", Time: now, New: c.isNew}, {Entity: c.entity, ID: "x", Time: now.Add(time.Millisecond), New: c.isNew}}
		require.NoError(t, errors.Join(events.NewWriter(client, d.Names.Events, view, events.Options{}).Put(libtest.Within(t), list, now)...))
		reader := events.NewReader(client, d.Names.Events, view)
		r := events.Range{Entity: c.entity, From: now, To: now.Add(time.Second), Limit: 10}
		full, after := r, r
		full.Limit, after.After = 1, schema.EventSortKey(now, "a")
		for i, read := range []func() error{
			func() error { _, err := reader.Query(libtest.Within(t), r, now); return err },
			func() error { _, err := reader.Query(libtest.Within(t), full, now); return err },
			func() error { _, err := reader.Query(libtest.Within(t), after, now); return err },
			func() error { _, err := reader.Get(libtest.Within(t), c.entity, "x", list[1].Time, now); return err },
			func() error { _, _ = reader.Get(libtest.Within(t), c.entity, "absent", now, now); return nil },
		} {
			meter.Reset()
			require.NoError(t, read())
			if got := meter.Stats().ReadUnits; got != c.want[i] {
				t.Errorf("%s, new %t: read %d costs %g read units, want %g", c.entity, c.isNew, i, got, c.want[i])
			}
		}
	}
}
