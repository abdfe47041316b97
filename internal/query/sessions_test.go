package query

import (
	"fmt"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestActiveSessions checks that only the sessions that have not ended count.
func TestActiveSessions(t *testing.T) {
	r := newRig(t)
	writer := sessions.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), sessions.Options{})
	const group = "shop/ü#1&b"
	for i := range 7 {
		now := r.now
		if i%2 == 1 {
			now = now.Add(-2 * time.Second) // it has ended
		}
		_, err := writer.Put(t.Context(), sessions.Lease{Group: group, ID: fmt.Sprint(i), TTL: time.Second + time.Hour*time.Duration((i+1)%2)}, now)
		require.NoError(t, err)
	}
	for name, want := range map[string]int{group: 4, "nobody's": 0} {
		var out struct{ Active *int }
		if status := r.get("/v1/sessions?group="+url.QueryEscape(name), &out); status != 200 || out.Active == nil || *out.Active != want {
			t.Errorf("%s: %d, %v", name, status, out.Active)
		}
	}
	for _, query := range []string{"", "group=", "group=%00", "group=a&group=b"} {
		if status := r.get("/v1/sessions?"+query, nil); status != 422 {
			t.Errorf("%q: %d", query, status)
		}
	}
}

// TestOneSession checks the answer for one session, with and without data, and the 404 once it has ended.
func TestOneSession(t *testing.T) {
	r := newRig(t)
	writer := sessions.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), sessions.Options{})
	const group, id = "shop/ü#1&b", "u/17#ü"
	put := func(l sessions.Lease) {
		t.Helper()
		l.Group, l.ID, l.TTL = group, id, time.Minute
		_, err := writer.Put(t.Context(), l, r.now)
		require.NoError(t, err)
	}
	path := "/v1/sessions?" + url.Values{"group": {group}, "id": {id}}.Encode()
	want := map[string]any{"group": group, "id": id, "started_at": httpapi.FormatTime(r.now)}
	check := func() {
		t.Helper()
		want["renewed_at"], want["ends_at"] = httpapi.FormatTime(r.now), httpapi.FormatTime(r.now.Add(time.Minute))
		got := map[string]any{}
		if status := r.get(path, &got); status != 200 || !reflect.DeepEqual(got, want) {
			t.Errorf("%d, %v; want %v", status, got, want)
		}
	}
	put(sessions.Lease{})
	check()
	r.now = r.now.Add(20 * time.Second)
	put(sessions.Lease{Data: map[string]types.AttributeValue{"cart": dynamo.Number(3)}})
	want["data"] = map[string]any{"cart": 3.0}
	check()
	r.now = r.now.Add(time.Minute)
	var p problem
	if status := r.get(path, &p); status != 404 || p.Detail != `group "shop/ü#1&b" has no active session "u/17#ü"` {
		t.Errorf("after its end: %d %+v", status, p)
	}
	for _, query := range []string{"id=a", "group=a&id=", "group=a&id=%00", "group=a&id=b&id=c"} {
		if status := r.get("/v1/sessions?"+query, nil); status != 422 {
			t.Errorf("%q: %d", query, status)
		}
	}
}

// TestListOfSessions checks that the pages of a list have each active session once, whatever the page's size.
func TestListOfSessions(t *testing.T) {
	r := newRig(t)
	writer := sessions.New(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), sessions.Options{})
	started, ends := httpapi.FormatTime(r.now), httpapi.FormatTime(r.now.Add(time.Hour))
	var want []listedSession
	for i := range 12 {
		id := fmt.Sprintf("%02d/ü", i)
		_, err := writer.Put(t.Context(), sessions.Lease{Group: "g", ID: id, TTL: time.Hour}, r.now)
		require.NoError(t, err)
		if i%4 == 3 {
			require.NoError(t, writer.End(t.Context(), "g", id, r.now))
		} else {
			want = append(want, listedSession{httpapi.Name(id), started, ends})
		}
	}
	for _, limit := range []int{1, 2, 4, 5, 9, 10, 1000} {
		var got []listedSession
		pages, cursor := 0, ""
		for ; pages == 0 || cursor != ""; pages++ {
			var page struct {
				Sessions []listedSession
				Cursor   string
			}
			if status := r.get(fmt.Sprintf("/v1/sessions/list?group=g&limit=%d&cursor=%s", limit, cursor), &page); status != 200 {
				t.Fatalf("limit %d: status %d", limit, status)
			}
			got, cursor = append(got, page.Sessions...), page.Cursor
		}
		if !reflect.DeepEqual(got, want) || pages != (len(want)+limit-1)/limit {
			t.Errorf("limit %d: %v in %d pages, want %v", limit, got, pages, want)
		}
	}
	var raw map[string]any
	if status := r.get("/v1/sessions/list?group=nobody", &raw); status != 200 || fmt.Sprint(raw["sessions"]) != "[]" || raw["cursor"] != nil {
		t.Errorf("an empty group: %d, %v", status, raw)
	}
	for _, query := range []string{"", "group=", "group=g&limit=0", "group=g&limit=1001", "group=g&cursor=x", "group=g&cursor=" + encodeCursor("sessions\x00h", "a")} {
		if status := r.get("/v1/sessions/list?"+query, nil); status != 422 {
			t.Errorf("%q: %d", query, status)
		}
	}
}
