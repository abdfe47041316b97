package events

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestMisusedCalls checks which events can't be written, and that the others of a call are.
func TestMisusedCalls(t *testing.T) {
	shards := shardmap.New(enginetest.NewMapTable(10, 0, 0), "map", shardmap.Options{})
	for name, c := range map[string]struct {
		event Event
		valid bool
	}{
		"now":          {Event{Entity: "e", ID: "x", Time: libtest.Later}, true},
		"ahead":        {Event{Entity: "e", ID: "x", Time: libtest.Later.Add(shardmap.MaxAhead)}, true},
		"too far":      {Event{Entity: "e", ID: "x", Time: libtest.Later.Add(shardmap.MaxAhead + 1)}, false},
		"no entity":    {Event{ID: "x", Time: libtest.Later}, false},
		"no id":        {Event{Entity: "e", Time: libtest.Later}, false},
		"in year 0":    {Event{Entity: "e", ID: "x", Time: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)}, true},
		"in year -1":   {Event{Entity: "e", ID: "x", Time: time.Date(-1, 12, 31, 0, 0, 0, 0, time.UTC)}, false},
		"after year 9": {Event{Entity: "e", ID: "x", Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, false},
	} {
		if _, err := NewWriter(nil, "events", shards, Options{}).PutTransact(t.Context(), c.event, libtest.Later); c.valid != (err == nil) || !c.valid && !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	year10000 := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := NewWriter(nil, "events", shards, Options{}).PutTransact(t.Context(), Event{Entity: "e", ID: "x", Time: year10000}, year10000); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("in year 10000: %v", err)
	}
	year9999 := year10000.Add(-time.Second)
	if _, err := NewWriter(nil, "events", shards, Options{}).PutTransact(t.Context(), Event{Entity: "e", ID: "x", Time: year9999}, year9999); err != nil {
		t.Errorf("in year 9999: %v", err)
	}
	mixed := []Event{{Entity: "e", Time: libtest.Later}, {Entity: "e", ID: "x", Time: libtest.Later}}
	if outcomes := NewWriter(&refusing{}, "items", shards, Options{}).Put(t.Context(), mixed, libtest.Later); !errors.Is(outcomes[0], shard.ErrMisused) || outcomes[1] != nil {
		t.Errorf("an invalid event and a valid one: %v", outcomes)
	}
	absent := &types.ResourceNotFoundException{}
	if outcomes := NewWriter(&partly{libtest.Scripted{Probe: absent}}, "items", shards, Options{}).Put(t.Context(), mixed[1:], libtest.Later); !errors.Is(outcomes[0], absent) {
		t.Errorf("without the table: %v", outcomes)
	}
}

// sameItems is a client that returns these items for each query.
type sameItems struct {
	client.BatchGetter
	items []dynamo.Item
}

func (s sameItems) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{Items: s.items}, nil
}

// TestPageEnds checks with which event a page ends by its limits, and which items are no events. A limit of 0 or less is 100.
func TestPageEnds(t *testing.T) {
	at := libtest.Later
	key := func(id string) string { return schema.EventSortKey(at, id) }
	var items []dynamo.Item
	for _, id := range []string{"a", "b", "c", "old"} {
		it := eventKey("e", id, at, 0)
		if id == "old" {
			it[schema.ExpiresAt] = dynamo.Number(at.Unix() - 1)
		}
		items = append(items, it)
	}
	size := dynamo.Size(items[0])
	for _, c := range []struct {
		r          Range
		want, next string
	}{
		{Range{Limit: 9}, "abc", ""}, {Range{Limit: 3}, "abc", ""}, {Range{Limit: 2}, "ab", key("b")},
		{Range{Limit: 9, Bytes: 1}, "a", key("a")}, {Range{Limit: 9, Bytes: size}, "a", key("a")}, {Range{Limit: 9, Bytes: size + 1}, "ab", key("b")},
		{Range{Limit: 9, Bytes: 3 * size}, "abc", ""}, {Range{Limit: 9, After: key("a")}, "bc", ""},
	} {
		c.r.Entity, c.r.From, c.r.To = "e", at, at.Add(time.Second)
		of, err := c.r.storedRange(at)
		if err != nil {
			t.Fatal(err)
		}
		reader := NewReader(sameItems{items: items}, "events", nil)
		page, err := reader.readPage(t.Context(), c.r, of, shardmap.Entry{History: shard.History{{Count: 1}}}, at)
		var ids []string
		for _, ev := range page.Events {
			ids = append(ids, ev.ID)
		}
		if got := strings.Join(ids, ""); err != nil || got != c.want || page.Next != c.next {
			t.Errorf("%+v: %s, then %q, %v; want %s and %q", c.r, got, page.Next, err, c.want, c.next)
		}
	}
	reader := NewReader(sameItems{items: []dynamo.Item{dynamo.Key("E#e#0", "no event")}}, "events", shardmap.New(enginetest.NewMapTable(10, 0, 0), "map", shardmap.Options{}))
	if page, err := reader.Query(t.Context(), Range{Entity: "e", From: at, To: at.Add(time.Second)}, at); len(page.Events) > 0 || !errors.As(err, new(*shard.ItemError)) {
		t.Errorf("an item that is no event: %+v, %v", page, err)
	}
	items = nil
	for i := range 101 {
		items = append(items, eventKey("e", fmt.Sprintf("%03d", i), at, 0))
	}
	reader = NewReader(sameItems{items: items}, "events", shardmap.New(enginetest.NewMapTable(10, 0, 0), "map", shardmap.Options{}))
	for _, limit := range []int{0, -7} {
		page, err := reader.Query(t.Context(), Range{Entity: "e", From: at, To: at.Add(time.Second), Limit: limit}, at)
		if err != nil || len(page.Events) != 100 || page.Next != key("099") {
			t.Errorf("a limit of %d: %d events, then %q, %v", limit, len(page.Events), page.Next, err)
		}
	}
}

// TestUnsettledPages checks which pages need the current count, since events before their cursor may be hidden.
func TestUnsettledPages(t *testing.T) {
	now := libtest.Later
	key := func(after time.Duration) string { return schema.EventSortKey(now.Add(after), "x") }
	const settled = -shardmap.Unsettled
	for i, c := range []struct {
		to          time.Duration
		desc        bool
		after, next string
		want        bool
	}{
		{time.Minute, false, "", "", false}, {time.Minute, false, key(0), "", true}, {settled, false, key(-time.Hour), "", false}, {settled + 1, false, key(-time.Hour), "", true},
		{time.Minute, false, "", key(settled), false}, {time.Minute, false, "", key(settled + time.Millisecond), true}, {settled, false, "", key(0), false},
		{time.Minute, true, "", key(-time.Hour), true}, {time.Minute, true, key(settled), "", false}, {time.Minute, true, key(settled + time.Millisecond), key(-time.Hour), true},
	} {
		r := Range{To: now.Add(c.to), Desc: c.desc, After: c.after}
		if got := r.isUnsettled(Page{Next: c.next}, now); got != c.want {
			t.Errorf("row %d: %t", i, got)
		}
	}
}

// TestBoundsOfPages checks between which sort keys a page reads, and which cursors are malformed.
func TestBoundsOfPages(t *testing.T) {
	from, to := libtest.Later, libtest.Later.Add(time.Minute)
	key := func(after time.Duration) string { return schema.EventSortKey(from.Add(after), "x") }
	for _, c := range []struct {
		after     string
		desc      bool
		low, high string
	}{
		{"", false, schema.EventBound(from), schema.EventBound(to)}, {key(time.Second), false, key(time.Second), schema.EventBound(to)}, {key(-time.Second), false, schema.EventBound(from), schema.EventBound(to)},
		{"", true, schema.EventBound(from), schema.EventBound(to)}, {key(time.Second), true, schema.EventBound(from), key(time.Second)}, {key(time.Hour), true, schema.EventBound(from), schema.EventBound(to)},
		{"x", false, "", ""},
	} {
		of, err := Range{Entity: "e", From: from, To: to, After: c.after, Desc: c.desc}.storedRange(from)
		if c.low == "" != errors.Is(err, shard.ErrMisused) || err == nil && (!dynamo.EqualValues(of.Low, dynamo.String(c.low)) || !dynamo.EqualValues(of.High, dynamo.String(c.high)) || of.MaxQueries != MaxQueries) {
			t.Errorf("%+v: %v to %v, %v", c, of.Low, of.High, err)
		}
	}
	if eventShard(key(0), 8) != shard.Calculated("x", 8) || shard.Calculated("x", 8) == 0 {
		t.Errorf("calculated %d", eventShard(key(0), 8))
	}
}

// stored is a client of a table with one item.
type stored struct{ item dynamo.Item }

func (s stored) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	for _, v := range in.ExpressionAttributeValues {
		if dynamo.EqualValues(v, s.item[schema.PK]) {
			out.Items = []dynamo.Item{s.item}
		}
	}
	return out, nil
}

func (s stored) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]dynamo.Item{}}
	for table, asked := range in.RequestItems {
		for _, key := range asked.Keys {
			if keyText(key) == keyText(s.item) {
				out.Responses[table] = []dynamo.Item{s.item}
			}
		}
	}
	return out, nil
}

// torn is a shard map whose items can't be read once it is down.
type torn struct {
	*enginetest.MapTable
	down bool
}

func (m *torn) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if m.down {
		return nil, errors.New("down")
	}
	return m.MapTable.GetItem(ctx, in, o...)
}

// TestReadsByTheCurrentCount checks that an event on a write shard that the view does not know is found, or the read fails.
func TestReadsByTheCurrentCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table, now := &torn{MapTable: enginetest.NewMapTable(10, 0, 0)}, time.Now()
		view, other := shardmap.New(table, "m", shardmap.Options{}), shardmap.New(table, "m", shardmap.Options{})
		changer := shardmap.NewChanger(table, shardmap.New(table, "m", shardmap.Options{}), shardmap.ChangerOptions{})
		if err := errors.Join(view.Load(t.Context(), now), other.Load(t.Context(), now)); err != nil {
			t.Fatal(err)
		}
		entry, err := changer.Pin(t.Context(), "E#e", 24, shardmap.Note{}, now)
		if err != nil {
			t.Fatal(err)
		}
		at := entry.Effective()
		item := stored{eventKey("e", "c", at, shard.Calculated("c", 24))}
		reader, ranges := NewReader(item, "events", view), NewReader(item, "events", other)
		r := Range{Entity: "e", From: at, To: at.Add(time.Second), After: schema.EventBound(at)}
		for _, table.down = range []bool{true, false} {
			ev, err := reader.Get(t.Context(), "e", "c", at, now)
			if (err != nil) != table.down || errors.Is(err, shard.ErrNotFound) || err == nil && ev.ID != "c" {
				t.Errorf("down %t: %+v, %v", table.down, ev, err)
			}
			page, err := ranges.Query(t.Context(), r, now)
			if (err != nil) != table.down || err == nil && len(page.Events) != 1 {
				t.Errorf("down %t: %+v, %v", table.down, page, err)
			}
		}
		if ev, err := reader.Get(t.Context(), "e", "absent", at, now); !errors.Is(err, shard.ErrNotFound) {
			t.Errorf("an event that was never put: %+v, %v", ev, err)
		}
	})
}

// TestMoveWithoutMap checks that an event whose new write shard can't be found stays where it is.
func TestMoveWithoutMap(t *testing.T) {
	down := enginetest.NewMapTable(10, 0, 0)
	down.Down = func() error { return errors.New("down") }
	b := newWriteBatch(NewWriter(nil, "events", shardmap.New(down, "map", shardmap.Options{}), Options{}), libtest.Later)
	b.addWrite(Event{Entity: "e", ID: "x", Time: libtest.Later, New: true}, writeOf("E#e#0", "x"), 0)
	for i, isNew := range []bool{true, true, false, true} {
		b.addWrite(Event{Entity: "e", ID: "y", Time: libtest.Later, New: isNew}, writeOf("E#e#0", "y"), i)
		if stays := b.items[1].keepsShard; stays != (i > 1) {
			t.Errorf("after write %d of the event: it stays %t", i, stays)
		}
	}
	before := fmt.Sprint(b.items[0].item, b.items[0].attempt)
	if _, err := b.PutTransact(t.Context(), Event{Entity: "e", ID: "x", Time: libtest.Later}, libtest.Later); !errors.Is(err, shard.ErrStale) {
		t.Errorf("a write without the map: %v", err)
	}
	if b.move(t.Context(), b.items[0]); fmt.Sprint(b.items[0].item, b.items[0].attempt) != before {
		t.Errorf("%v", b.items[0])
	}
}

// TestEventsExpireSpreadOverLastDay checks that a day's events expire evenly over the last day of their retention. An event
// that is written again expires at the same second.
func TestEventsExpireSpreadOverLastDay(t *testing.T) {
	midnight := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	first := midnight.Add(24*time.Hour + 90*time.Minute)
	hours := map[int]int{}
	for i := range 24_000 {
		ev := Event{Entity: "e", ID: strconv.Itoa(i), Time: midnight.Add(time.Duration(i) * time.Second)}
		at := expiry(ev, midnight.Add(20*time.Hour), 90*time.Minute)
		if again := expiry(ev, midnight.Add(24*time.Hour-1), 90*time.Minute); !again.Equal(at) {
			t.Fatalf("%v expires at %v, and at %v if written again", ev, at, again)
		}
		if at.Before(first) || !at.Before(first.Add(24*time.Hour)) || at.Add(-schema.ExpirySpread(ev.ID)) != first {
			t.Fatalf("%v expires at %v, want within 24 h of %v", ev, at, first)
		}
		hours[int(at.Sub(first)/time.Hour)]++
	}
	for hour := range 24 {
		if n := hours[hour]; n < 850 || n > 1150 {
			t.Errorf("%d of 24,000 events expire in hour %d, want about 1,000", n, hour)
		}
	}
	late := Event{ID: "x", Time: midnight}
	if at := expiry(late, midnight.Add(50*time.Hour), time.Hour); at.Add(-schema.ExpirySpread("x")) != midnight.Add(73*time.Hour) {
		t.Errorf("an event that is two days old expires at %v", at)
	}
}
