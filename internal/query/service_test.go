package query

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// TestCounters checks the values of one counter and of several, and that an unreadable counter fails alone.
func TestCounters(t *testing.T) {
	r := newRig(t)
	name := "a/b#c,d&ü"
	r.increment(name, 1<<60+1)
	var one counterAnswerJSON
	mustGet(t, r.handler, "/v1/counters?consistency=strong&name="+url.QueryEscape(name), &one)
	if one.Value.String() != "1152921504606846977" || one.Counter != name || one.Shards != 1 || one.Consistency != "strong" || one.AsOf == "" {
		t.Errorf("got %+v", one)
	}
	if got := r.get("/v1/counters?name=never", &one); got != 200 || one.Value.String() != "0" || one.Consistency != "eventual" {
		t.Errorf("never written: %d %+v", got, one)
	}
	var many struct{ Counters []counterAnswerJSON }
	r.get("/v1/counters?consistency=strong&name=x&name="+url.QueryEscape(name)+"&name=x", &many)
	if len(many.Counters) != 3 || many.Counters[1].Counter != name || many.Counters[2].Counter != "x" {
		t.Errorf("got %+v", many)
	}
	r.putItem(r.names.Rollups, dynamo.Item{
		"pk": dynamo.String(schema.SummaryKey("twice", 0)), "sk": dynamo.String(schema.SoleSK), "x1": dynamo.Number(5), schema.AsOf: dynamo.Number(1000),
	})
	r.get("/v1/counters?name=twice&name=x&name=twice", &many)
	if len(many.Counters) != 3 || many.Counters[0].Value.String() != "5" || many.Counters[1].Value.String() != "0" || many.Counters[2].Value.String() != "5" {
		t.Errorf("a name twice: %+v", many)
	}
	unreadable := dynamo.Key(schema.CounterKey("x", 0))
	unreadable["value"] = dynamo.String("7")
	r.putItem(r.names.Items, unreadable)
	var damaged struct {
		Counters []struct {
			Value  *json.Number
			Detail string
		}
	}
	for _, consistency := range []string{"eventual", "strong"} {
		r.get("/v1/counters?consistency="+consistency+"&name=x&name="+url.QueryEscape(name), &damaged)
		if list := damaged.Counters; list[0].Value != nil || list[0].Detail == "" || list[1].Value == nil || list[1].Detail != "" {
			t.Errorf("%s: an unreadable counter and another: %+v", consistency, damaged)
		}
		if got := r.get("/v1/counters?name=x&consistency="+consistency, nil); got != 500 {
			t.Errorf("%s: an unreadable counter alone: %d, want a 500", consistency, got)
		}
	}
}

type counterAnswerJSON struct {
	Counter, Consistency string
	Value                json.Number
	AsOf                 string `json:"as_of"`
	Shards               int
}

// TestInvalidParameters checks that each invalid parameter of any read is rejected by its name.
func TestInvalidParameters(t *testing.T) {
	r := newRig(t)
	names := ""
	for i := range 101 {
		names += fmt.Sprintf("&name=%d", i)
	}
	for path, location := range map[string]string{
		"/v1/counters":                         "query.name",
		"/v1/counters?name=":                   "query.name",
		"/v1/counters?name=%00":                "query.name[0]",
		"/v1/counters?name=%ff":                "query.name[0]",
		"/v1/counters?" + names[1:]:            "query.name",
		"/v1/counters?name=x&consistency=none": "query.consistency",
		"/v1/events":                           "query.entity",
		"/v1/events?entity=e&limit=0":          "query.limit",
		"/v1/events?entity=e&limit=1001":       "query.limit",
		"/v1/events?entity=e&limit=x":          "query.limit",
		"/v1/events?entity=e&order=up":         "query.order",
		"/v1/events?entity=e&order=":           "query.order",
		"/v1/events?entity=e&limit=":           "query.limit",
		"/v1/events?entity=e&to=":              "query.to",
		"/v1/hot-keys?since=":                  "query.since",
		"/v1/events?entity=e&from=today":       "query.from",
		"/v1/events?entity=e&from=2026-01-05T00:00:00Z&to=2026-01-04T00:00:00Z": "query.to",
		"/v1/events?entity=e&cursor=x":                                          "query.cursor",
		"/v1/events/x?entity=e":                                                 "query.time",
		"/v1/counters?name=a%00b":                                               "query.name[0]",
		"/v1/counters?name=x&consistency=strong&consistency=eventual":           "query.consistency",
		"/v1/events?entity=a&entity=b":                                          "query.entity",
		"/v1/events?entity=e&cursor=eyJ2IjoxLCJyIjoiWCIsImEiOiIyMDI2LTAxLTA1VDAwOjAwOjAwLjAwMFp4In0": "query.cursor",
		"/v1/events/x":           "query.entity",
		"/v1/hot-keys?since=1y":  "query.since",
		"/v1/hot-keys?since=25h": "query.since",
		"/v1/hot-keys?since=0s":  "query.since",
		"/v1/shards?cursor=e30":  "query.cursor",
		"/v1/shards?cursor=eyJ2IjoxLCJyIjoiWCIsImEiOiIyMDI2LTAxLTA1VDAwOjAwOjAwLjAwMFp4In0": "query.cursor",
		"/v1/shards?cursor=eyJ2IjoxLCJrIjoibm9uZSJ9":                                        "query.cursor",
		"/v1/shards?type=counter&name=a&cursor=eyJ2IjoxLCJrIjoiQyN4In0":                     "query.cursor",
		"/v1/events?entity=e&from=2026-01-05T1:00:00Z":                                      "query.from",
		"/v1/events?entity=e&from=9999-12-31T23:59:59-01:00":                                "query.from",
		"/v1/events?entity=e&to=0000-01-01T00:00:00%2B01:00":                                "query.to",
		"/v1/rollups?entity=e&to=9999-12-31T23:59:59-01:00":                                 "query.to",
		"/v1/hot-keys?limit=201":                                                            "query.limit",
	} {
		r.wantInvalid(path, location)
	}
}

// TestWideRangesAreNarrowed checks that no time before 1970 or far ahead is searched, since no event has such a time.
func TestWideRangesAreNarrowed(t *testing.T) {
	r := newRig(t)
	r.putEvents(events.Event{Entity: "e", ID: "x", Time: r.now})
	for _, span := range []string{"&to=9999-12-31T23:59:59.9999Z", "&order=desc&to=9999-12-31T00:00:00Z", "&from=9999-01-01T00:00:00Z", "&from=9998-01-01T00:00:00Z&to=9999-01-01T00:00:00Z", "&from=9999-12-31T23:59:59.9991Z", "&from=0000-01-01T00:00:00Z&to=0000-01-01T00:00:00Z"} {
		var page eventsJSON
		want := 1
		if strings.Contains(span, "from") {
			want = 0
		}
		if got := r.get("/v1/events?entity=e"+span, &page); got != 200 || len(page.Events) != want || page.Cursor != "" {
			t.Errorf("%s: %d %+v", span, got, page)
		}
	}
}

type eventsJSON struct {
	Events []struct {
		ID, Time string
		Data     json.RawMessage
	}
	Cursor string
}

// TestEventsPageThroughEqualTimes checks that pages of events with equal times have each event once, in both orders, and
// that a cursor leads through 1,000 days without events. A cursor is valid for its entity only.
func TestEventsPageThroughEqualTimes(t *testing.T) {
	r := newRig(t)
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	data, err := httpapi.ParseDocument([]byte(`{"b":12345678901234567890,"a":[1.5,null,{"x":"ü"}]}`))
	require.NoError(t, err)
	for i := range 20 {
		r.putEvents(events.Event{Entity: "a/b", ID: fmt.Sprintf("%02d", i), Time: start, Data: data})
	}
	for order, from := range map[string]string{"asc": "2023-04-01", "desc": "2026-01-05"} {
		path := "/v1/events?entity=a%2Fb&from=" + from + "T00:00:00Z&to=2026-01-06T00:00:00Z&limit=3&order=" + order
		var ids []string
		cursor := ""
		for {
			var page eventsJSON
			mustGet(t, r.handler, path+cursor, &page)
			for _, ev := range page.Events {
				ids = append(ids, ev.ID)
				if string(ev.Data) != `{"a":[1.5,null,{"x":"ü"}],"b":12345678901234567890}` || ev.Time != "2026-01-05T12:00:00.000Z" {
					t.Fatalf("event %+v", ev)
				}
			}
			if page.Cursor == "" {
				break
			}
			cursor = "&cursor=" + page.Cursor
			r.wantInvalid("/v1/events?entity=other&order="+order+cursor, "query.cursor")
		}
		if len(ids) != 20 || (ids[0] == "00") != (order == "asc") || ids[0] == ids[1] {
			t.Errorf("%s: %v", order, ids)
		}
	}
}

// TestOneEvent checks that an event is read by its id, whatever text that is, and its time. A ULID needs no time.
func TestOneEvent(t *testing.T) {
	r := newRig(t)
	at := time.Date(2026, 1, 5, 12, 0, 0, 7e6, time.UTC)
	for _, id := range []string{"a/b//c", "..", ".", "/", "//", "=", "x#ü %41?"} {
		r.putEvents(events.Event{Entity: "e", ID: id, Time: at})
		var got struct{ ID, Time string }
		path := "/v1/events/" + url.PathEscape(id)
		if status := r.get(path+"?entity=e&time=2026-01-05T12:00:00.007Z", &got); status != 200 || got.ID != id || got.Time != "2026-01-05T12:00:00.007Z" {
			t.Errorf("%q: %d %+v", id, status, got)
		}
		var absent problem
		want := fmt.Sprintf(`entity "e" has no event %q at 2026-01-05T12:00:00.008Z`, id)
		if status := r.get(path+"?entity=e&time=2026-01-05T12:00:00.008Z", &absent); status != 404 || absent.Detail != want {
			t.Errorf("%q at another time: %d %s, want %s", id, status, absent.Detail, want)
		}
	}
	made := "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	r.putEvents(events.Event{Entity: "e", ID: made, Time: time.UnixMilli(1469922850259)})
	if status := r.get("/v1/events/"+made+"?entity=e", nil); status != 200 {
		t.Errorf("a ULID's event: %d", status)
	}
}

// TestShards checks the shard count of one key, and the list of all keys that hotshard can parse.
func TestShards(t *testing.T) {
	r := newRig(t)
	var one struct {
		Type, Name string
		Shards     int
		Max        int `json:"max_shards"`
		Pinned     bool
		History    []struct {
			Time, By, Why string
			Shards        int
		}
	}
	if got := r.get("/v1/shards?type=counter&name=a%23b", &one); got != 200 || one.Shards != 1 || one.Max != 1 || one.Name != "a#b" || one.History == nil {
		t.Errorf("a key that never had another count: %d %+v", got, one)
	}
	now := r.now
	for key, n := range map[string]int{"C#a#b": 4, "E#x": 9} {
		r.pin(key, n, now)
	}
	if r.get("/v1/shards?type=counter&name=a%23b", &one); one.Shards != 4 || !one.Pinned || len(one.History) != 1 || one.History[0].Why != "peak" {
		t.Errorf("got %+v", one)
	}
	r.pin("orders/acme", 3, now) // of another program
	damaged := dynamo.Key(schema.MapKey("C#damaged"))
	damaged["shard_history"] = &types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.String("1:1000000000")}}
	r.putItem(r.names.ShardMap, damaged)
	r.putItem(r.names.ShardMap, dynamo.Key("junk", "-"))
	var list struct{ Keys []struct{ Type, Name string } }
	if got := r.get("/v1/shards", &list); got != 200 || len(list.Keys) != 2 || list.Keys[1].Type != "entity" {
		t.Errorf("%d, got %+v", got, list)
	}
	if r.get("/v1/shards?cursor="+encodeCursor(listOfShards, "C#a#b"), &list); len(list.Keys) != 1 || list.Keys[0].Type != "entity" {
		t.Errorf("after the counter: %+v", list)
	}
	for _, bad := range []string{"?type=counter", "?name=x", "?type=thing&name=x"} {
		if got := r.get("/v1/shards"+bad, nil); got != 422 {
			t.Errorf("%s: %d", bad, got)
		}
	}
}
