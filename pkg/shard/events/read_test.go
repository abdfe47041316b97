package events_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// put puts events.
func (d *deployment) put(t *testing.T, list []events.Event, now time.Time) {
	t.Helper()
	writer := events.NewWriter(d.Client, d.Names.Events, d.Shards, events.Options{})
	if err := errors.Join(writer.Put(libtest.Within(t), list, now)...); err != nil {
		t.Fatal(err)
	}
}

// TestRangeIsInOrderAcrossShardsAndDays checks that ranges over several days and shard counts have each event once and in
// order, at any page limit. Get finds each event.
func TestRangeIsInOrderAcrossShardsAndDays(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	start := now.UTC().Truncate(24 * time.Hour).Add(-60 * time.Hour)
	d.SetShards(t, "E#sensor", fmt.Sprintf("%d:4", start.Add(20*time.Hour).Unix()), fmt.Sprintf("%d:2", start.Add(40*time.Hour).Unix()))
	n := require.Runs(100, 300)
	list := spread("sensor", n, start, 60*time.Hour/time.Duration(n/5))
	d.put(t, list, now)
	d.put(t, list[n/3:n*2/3], now) // overwrites the same items
	reader := events.NewReader(d.Client, d.Names.Events, d.Shards)
	for _, desc := range []bool{false, true} {
		for _, limit := range []int{1, 7, 100, 1000} {
			r := events.Range{Entity: "sensor", From: start, To: now.Add(time.Minute), Limit: limit, Desc: desc}
			got := readAll(t, reader, r, now)
			checkOrder(t, got, list, desc)
		}
	}
	for _, ev := range list {
		got, err := reader.Get(libtest.Within(t), "sensor", ev.ID, ev.Time, now)
		if err != nil || got.ID != ev.ID || !got.Time.Equal(ev.Time) {
			t.Fatalf("Get of %q = %v, %v", ev.ID, got, err)
		}
	}
}

// readAll reads all pages of a range.
func readAll(t *testing.T, reader *events.Reader, r events.Range, now time.Time) []events.Event {
	t.Helper()
	var all []events.Event
	for {
		page, err := reader.Query(libtest.Within(t), r, now)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) > r.Limit {
			t.Fatalf("a page of %d events with limit %d", len(page.Events), r.Limit)
		}
		all = append(all, page.Events...)
		if page.Next == "" {
			return all
		}
		r.After = page.Next
	}
}

// checkOrder checks that the wanted events were read, in order.
func checkOrder(t *testing.T, got, want []events.Event, desc bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("read %d events, want %d (desc %v)", len(got), len(want), desc)
	}
	for i := range got {
		w := want[i]
		if desc {
			w = want[len(want)-1-i]
		}
		if got[i].ID != w.ID || !got[i].Time.Equal(w.Time) {
			t.Fatalf("event %d: got %s at %s, want %s at %s", i, got[i].ID, got[i].Time, w.ID, w.Time)
		}
	}
}

// TestEventsOlderThanHistoryAreFound checks that events are found whose shard counts the history no longer has.
func TestEventsOlderThanHistoryAreFound(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := libtest.Later
	long := now.Add(-1000 * time.Hour).Truncate(time.Millisecond)
	list := spread("old", 50, long, time.Minute)
	d.SetShards(t, "E#old", fmt.Sprintf("%d:9", long.Add(-time.Hour).Unix()))
	d.put(t, list, now)
	changer := d.Changer(shardmap.ChangerOptions{Keep: 24 * time.Hour})
	for i, count := range []int{12, 3, 2} {
		if _, err := changer.Pin(libtest.Within(t), "E#old", count, libtest.Note, now.Add(time.Duration(i-4)*100*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	reader := events.NewReader(d.Client, d.Names.Events, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}))
	checkOrder(t, readAll(t, reader, events.Range{Entity: "old", From: long, To: now, Limit: 7}, now), list, false)
	for _, ev := range list {
		if _, err := reader.Get(libtest.Within(t), "old", ev.ID, ev.Time, now); err != nil {
			t.Fatal(err)
		}
	}
}

// spread returns n events of an entity, five at each instant and step apart.
func spread(entity string, n int, start time.Time, step time.Duration) []events.Event {
	list := make([]events.Event, n)
	for i := range list {
		list[i] = events.Event{
			Entity: entity, ID: fmt.Sprintf("id/%03d#x", i), Time: start.Add(time.Duration(i/5) * step),
			Data: map[string]types.AttributeValue{"n": &types.AttributeValueMemberN{Value: strconv.Itoa(i)}},
		}
	}
	return list
}
