package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

var later = enginetest.Later

// deployment is the tables of one test, and what reads and writes them.
type deployment struct {
	client *dynamodb.Client
	names  schema.Names
	shards *ddb.Map
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	client := enginetest.Client(t)
	names := enginetest.Tables(t, client)
	return &deployment{client, names, ddb.NewMap(client, names.ShardMap)}
}

// setShards writes a key's item into the shard map, as the AWS blog's writers do.
func (d *deployment) setShards(t *testing.T, key string, history ...string) {
	t.Helper()
	list := make([]types.AttributeValue, len(history))
	for i, h := range history {
		list[i] = &types.AttributeValueMemberS{Value: h}
	}
	pk, sk := schema.MapKey(key)
	_, err := d.client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: &d.names.ShardMap,
		Item: map[string]types.AttributeValue{
			"pk":            &types.AttributeValueMemberS{Value: pk},
			"sk":            &types.AttributeValueMemberS{Value: sk},
			"shard_history": &types.AttributeValueMemberL{Value: list},
			"version":       &types.AttributeValueMemberN{Value: "1"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestCounterSumsItsShards(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	ctx := within(t)
	d.setShards(t, "C#a#b/é", "1:7")
	writer := ddb.NewCounterWriter(d.client, d.names.Items, d.shards, ddb.Unwatched{})
	reader := ddb.NewCounterReader(d.client, d.names.Items, d.shards)
	for i := range 100 {
		if err := writer.Add(ctx, "a#b/é", int64(i-20), later); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := reader.Sum(ctx, "a#b/é")
	if err != nil || sum.Value.Int64() != 2950 || sum.Shards != 7 {
		t.Fatalf("got %v, %v; want 2950 over 7 shards", sum, err)
	}
	if sum, err = reader.Sum(ctx, "never"); err != nil || sum.Value.Sign() != 0 || sum.Shards != 1 {
		t.Fatalf("a counter never written: %v, %v", sum, err)
	}
}

func TestCounterBeyond53Bits(t *testing.T) {
	d := deploy(t)
	writer := ddb.NewCounterWriter(d.client, d.names.Items, d.shards, ddb.Unwatched{})
	for range 3 {
		if err := writer.Add(within(t), "big", 1<<62+1, later); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := ddb.NewCounterReader(d.client, d.names.Items, d.shards).Sum(within(t), "big")
	if err != nil || sum.Value.String() != "13835058055282163715" {
		t.Fatalf("got %v, %v", sum.Value, err)
	}
}

func (d *deployment) put(t *testing.T, events []ddb.Event, now time.Time) {
	t.Helper()
	writer := ddb.NewEventWriter(d.client, d.names.Items, d.shards, 0, ddb.Unwatched{})
	if err := errors.Join(writer.Put(within(t), events, now)...); err != nil {
		t.Fatal(err)
	}
}

// spread makes n events of an entity over some days, several at each instant.
func spread(entity string, n int, start time.Time, step time.Duration) []ddb.Event {
	events := make([]ddb.Event, n)
	for i := range events {
		events[i] = ddb.Event{
			Entity: entity, ID: fmt.Sprintf("id/%03d#x", i), Time: start.Add(time.Duration(i/5) * step),
			Data: map[string]types.AttributeValue{"n": &types.AttributeValueMemberN{Value: strconv.Itoa(i)}},
		}
	}
	return events
}

func TestRangeIsInOrderAcrossShardsAndDays(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := later
	start := now.UTC().Truncate(24 * time.Hour).Add(-60 * time.Hour)
	d.setShards(t, "E#sensor", fmt.Sprintf("%d:4", start.Add(20*time.Hour).Unix()), fmt.Sprintf("%d:2", start.Add(40*time.Hour).Unix()))
	n := lane.Runs(100, 300)
	events := spread("sensor", n, start, 60*time.Hour/time.Duration(n/5))
	d.put(t, events, now)
	d.put(t, events[n/3:n*2/3], now) // again: the same items
	reader := ddb.NewEventReader(d.client, d.names.Items, d.shards)
	for _, desc := range []bool{false, true} {
		for _, limit := range []int{1, 7, 100, 1000} {
			r := ddb.Range{Entity: "sensor", From: start, To: now.Add(time.Minute), Limit: limit, Desc: desc}
			got := readAll(t, reader, r, now)
			checkOrder(t, got, events, desc)
		}
	}
	for _, ev := range events {
		got, err := reader.Get(within(t), "sensor", ev.ID, ev.Time, now)
		if err != nil || got.ID != ev.ID || !got.Time.Equal(ev.Time) {
			t.Fatalf("point look-up of %q: %v, %v", ev.ID, got, err)
		}
	}
}

func readAll(t *testing.T, reader *ddb.EventReader, r ddb.Range, now time.Time) []ddb.Event {
	t.Helper()
	var all []ddb.Event
	for {
		page, err := reader.Query(within(t), r, now)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) > r.Limit {
			t.Fatalf("a page of %d with limit %d", len(page.Events), r.Limit)
		}
		all = append(all, page.Events...)
		if page.Next == "" {
			return all
		}
		r.After = page.Next
	}
}

func checkOrder(t *testing.T, got, want []ddb.Event, desc bool) {
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
			t.Fatalf("place %d: got %s at %s, want %s at %s", i, got[i].ID, got[i].Time, w.ID, w.Time)
		}
	}
}

func TestRangeBounds(t *testing.T) {
	d := deploy(t)
	start := time.Date(2026, 1, 5, 23, 59, 59, 998_000_000, time.UTC)
	d.put(t, spread("e", 25, start, time.Millisecond), later)
	reader := ddb.NewEventReader(d.client, d.names.Items, d.shards)
	read := func(from, to time.Time) int {
		return len(readAll(t, reader, ddb.Range{Entity: "e", From: from, To: to, Limit: 3}, later))
	}
	for _, c := range []struct {
		from, to time.Duration
		want     int
	}{
		{0, 5 * time.Millisecond, 25},
		{0, 4 * time.Millisecond, 20},
		{1 * time.Millisecond, 2 * time.Millisecond, 5},
		{time.Microsecond, 2 * time.Millisecond, 5},
		{0, 1*time.Millisecond + time.Microsecond, 10},
		{2 * time.Millisecond, 2 * time.Millisecond, 0},
	} {
		if got := read(start.Add(c.from), start.Add(c.to)); got != c.want {
			t.Errorf("from %v to %v: %d events, want %d", c.from, c.to, got, c.want)
		}
	}
}

func TestRangeOverManyDaysIsBounded(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	start := time.Date(2015, 5, 17, 10, 0, 0, 0, time.UTC)
	events := spread("old", 10, start, time.Second)
	d.put(t, events, later)
	reader := ddb.NewEventReader(d.client, d.names.Items, d.shards)
	const days = ddb.MaxQueries/2 + 50 // before the events, and after them
	r := ddb.Range{Entity: "old", From: start.AddDate(0, 0, -days), To: start.AddDate(0, 0, days), Limit: 100}
	for _, r.Desc = range []bool{false, true} {
		first, err := reader.Query(within(t), r, later)
		if err != nil || first.Next == "" {
			t.Fatalf("one page read %d days: %v, %v", 2*days, first, err)
		}
		rest := r
		rest.After = first.Next
		checkOrder(t, append(first.Events, readAll(t, reader, rest, later)...), events, r.Desc)
	}
}

// queries counts a client's queries.
type queries struct {
	*dynamodb.Client
	made atomic.Int64
}

func (q *queries) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := q.Client.Query(ctx, in, o...)
	if err == nil { // one that failed is made again
		q.made.Add(1)
	}
	return out, err
}

func TestPagesOfManyShardsAreBounded(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.setShards(t, "E#wide", "1:600")
	counted := &queries{Client: d.client}
	reader := ddb.NewEventReader(counted, d.names.Items, d.shards)
	now := later
	page, err := reader.Query(within(t), ddb.Range{Entity: "wide", From: now.Add(-72 * time.Hour), To: now, Limit: 10}, now)
	if err != nil || page.Next == "" || counted.made.Load() > ddb.MaxQueries {
		t.Fatalf("%d queries, next %q, %v", counted.made.Load(), page.Next, err)
	}
}

func TestLastOfOneIdentityCounts(t *testing.T) {
	d := deploy(t)
	now := later.Truncate(time.Millisecond)
	events := spread("e", 2, now, 0)
	events[1].ID = events[0].ID
	d.put(t, events, now)
	got, err := ddb.NewEventReader(d.client, d.names.Items, d.shards).Get(within(t), "e", events[0].ID, now, now)
	if err != nil || got.Data["n"].(*types.AttributeValueMemberN).Value != "1" {
		t.Fatalf("got %v, %v", got, err)
	}
}

func TestNoSuchEvent(t *testing.T) {
	d := deploy(t)
	_, err := ddb.NewEventReader(d.client, d.names.Items, d.shards).Get(within(t), "e", "x", later, later)
	if !errors.Is(err, ddb.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
}

// TestReadsAfterAShrinkCostLess counts the queries of a range of the storm, and of
// one after it, on the same day.
func TestReadsAfterAShrinkCostLess(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	noon := later.Add(-24 * time.Hour)
	d.setShards(t, "E#calm", fmt.Sprintf("%d:80", noon.Unix()), fmt.Sprintf("%d:2", noon.Add(time.Hour).Unix()))
	d.put(t, spread("calm", 500, noon.Add(-time.Minute), 2*time.Minute), later)
	counted := &queries{Client: d.client}
	reader := ddb.NewEventReader(counted, d.names.Items, d.shards)
	cost := func(from, to time.Duration) int64 {
		counted.made.Store(0)
		readAll(t, reader, ddb.Range{Entity: "calm", From: noon.Add(from), To: noon.Add(to), Limit: 1000}, later)
		return counted.made.Load()
	}
	before, during, after := cost(-2*time.Minute, -time.Minute), cost(0, 30*time.Minute), cost(2*time.Hour, 3*time.Hour)
	if before != 1 || during != 80 || after != 2 {
		t.Errorf("%d queries before the storm, %d in it, %d after it; want 1, 80, 2", before, during, after)
	}
}

// TestEventsOlderThanTheHistory: what was written under counts that the history
// has forgotten is found all the same.
func TestEventsOlderThanTheHistory(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	now := later
	long := now.Add(-1000 * time.Hour).Truncate(time.Millisecond)
	events := spread("old", 50, long, time.Minute)
	d.setShards(t, "E#old", fmt.Sprintf("%d:9", long.Add(-time.Hour).Unix()))
	d.put(t, events, now)
	changer := d.changer(ddb.ChangerOptions{Keep: 24 * time.Hour})
	for i, count := range []int{12, 3, 2} {
		if _, err := changer.Pin(within(t), "E#old", count, note, now.Add(time.Duration(i-4)*100*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	reader := ddb.NewEventReader(d.client, d.names.Items, ddb.NewMap(d.client, d.names.ShardMap))
	checkOrder(t, readAll(t, reader, ddb.Range{Entity: "old", From: long, To: now, Limit: 7}, now), events, false)
	for _, ev := range events {
		if _, err := reader.Get(within(t), "old", ev.ID, ev.Time, now); err != nil {
			t.Fatal(err)
		}
	}
}
