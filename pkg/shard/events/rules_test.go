package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestMisusedCalls checks which events can't be written, and that calls without a client are errors.
func TestMisusedCalls(t *testing.T) {
	shards := shardmap.New(mapfake.New(10, 0, 0), "map", shardmap.Options{})
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
	for _, err := range NewWriter(nil, "events", shards, Options{}).Put(t.Context(), make([]Event, 2), libtest.Later) {
		if !errors.Is(err, shard.ErrMisused) {
			t.Errorf("a put without a client: %v", err)
		}
	}
	if _, err := NewReader(nil, "events", shards).Query(t.Context(), Range{Entity: "e"}, libtest.Later); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("a range without a client: %v", err)
	}
	if _, err := NewReader(nil, "events", shards).Get(t.Context(), "e", "x", libtest.Later, libtest.Later); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("an event without a client: %v", err)
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
		of, err := c.r.places(at)
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
	items = nil
	for i := range 101 {
		items = append(items, eventKey("e", fmt.Sprintf("%03d", i), at, 0))
	}
	reader := NewReader(sameItems{items: items}, "events", shardmap.New(mapfake.New(10, 0, 0), "map", shardmap.Options{}))
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

// TestMoveWithoutMap checks that an event whose new write shard can't be found stays where it is.
func TestMoveWithoutMap(t *testing.T) {
	down := mapfake.New(10, 0, 0)
	down.Down = func() error { return errors.New("down") }
	b := newWriteBatch(NewWriter(nil, "events", shardmap.New(down, "map", shardmap.Options{}), Options{}), libtest.Later)
	b.addWrite(Event{Entity: "e", ID: "x", Time: libtest.Later, New: true}, writeOf("E#e#0", "x"), 0)
	before := fmt.Sprint(b.items[0].item, b.items[0].attempt)
	if b.move(t.Context(), b.items[0]); fmt.Sprint(b.items[0].item, b.items[0].attempt) != before {
		t.Errorf("%v", b.items[0])
	}
}
