package ingest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/sessions"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// active reads the number of a group's active sessions.
func (r *rig) active(group string) int {
	r.t.Helper()
	reader := sessions.NewReader(r.client, r.names.Items, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}))
	n, err := reader.Active(r.t.Context(), group, r.service.now())
	require.NoError(r.t, err)
	return n
}

// end ends a session.
func (r *rig) end(group, id string, header ...string) answer {
	r.t.Helper()
	return r.send(http.MethodDelete, "/v1/sessions?"+url.Values{"group": {group}, "id": {id}}.Encode(), "", header...)
}

// TestSessionsAreAnswered checks a session's start, renewal and end, and its times.
func TestSessionsAreAnswered(t *testing.T) {
	r := newRig(t)
	now := enginetest.Later
	r.service.now = func() time.Time { return now }
	var first, again sessionAnswer
	got := r.send(http.MethodPut, "/v1/sessions", `{"group":"shop/ü#1","id":"~beat","ttl":"1m30s","data":{"cart":[1.50]}}`)
	got.decode(t, &first)
	if got.status != 200 || first.Group != "shop/ü#1" || first.ID != "~beat" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	began := now
	now = now.Add(time.Minute)
	got = r.send(http.MethodPut, "/v1/sessions", `{"group":"shop/ü#1","id":"~beat","ttl":"720h"}`)
	got.decode(t, &again)
	if again.StartedAt != first.StartedAt || !sameTime(t, first.StartedAt, began) || !sameTime(t, again.EndsAt, now.Add(720*time.Hour)) {
		t.Errorf("%+v, then %+v", first, again)
	}
	if n := r.active("shop/ü#1"); n != 1 || r.items() != 1 {
		t.Errorf("%d active, %d items", n, r.items())
	}
	for range 2 {
		if got := r.end("shop/ü#1", "~beat"); got.status != 204 || len(got.body) > 0 {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	if n := r.active("shop/ü#1"); n != 0 {
		t.Errorf("%d active after the end", n)
	}
}

// TestRejectedHitHasHeaders checks the headers of a hit that a limit rejects, and that an allowed hit has none.
func TestRejectedHitHasHeaders(t *testing.T) {
	r := newRig(t)
	body := `{"key":"k","limit":2,"window":"1d"}`
	for i, key := range []string{"", "", "", "a", "a"} {
		var keyed []string
		if key != "" {
			keyed = []string{"Idempotency-Key", key}
		}
		before := r.service.now()
		got := r.post("/v1/limits", body, keyed...)
		var v limitAnswer
		got.decode(t, &v)
		left := got.header.Get("Retry-After")
		want := []string{"", ""}
		if i >= 2 {
			want = []string{`"limit";q=2;w=86400`, `"limit";r=0;t=` + left}
			seconds, err := strconv.Atoi(left)
			if err != nil || !sameTime(t, v.ResetsAt, before.Add(time.Duration(seconds-1)*time.Second)) {
				t.Errorf("hit %d: Retry-After %q, and the window ends at %s", i, left, v.ResetsAt)
			}
		}
		if have := []string{got.header.Get("RateLimit-Policy"), got.header.Get("RateLimit")}; v.Allowed != (i < 2) || v.Allowed != (left == "") || !slices.Equal(have, want) {
			t.Errorf("hit %d: %+v with %q; want %q", i, v, have, want)
		}
	}
}

// sameTime reports whether a text is the wanted time in milliseconds, or up to 20 s later.
func sameTime(t *testing.T, text string, want time.Time) bool {
	t.Helper()
	got, err := time.Parse(time.RFC3339, text)
	if err != nil || len(text) != len("2026-01-05T12:00:00.123Z") {
		t.Errorf("%q is not a time in milliseconds: %v", text, err)
	}
	return !got.Before(want) && got.Before(want.Add(20*time.Second))
}

// TestMalformedSessionsAndLimits checks that each invalid member is rejected with its location.
func TestMalformedSessionsAndLimits(t *testing.T) {
	r := newRig(t)
	session := func(rest string) string { return `{"group":"g","id":"i",` + rest + `}` }
	limit := func(rest string) string { return `{"key":"k",` + rest + `}` }
	several := func(key, window string) string {
		return fmt.Sprintf(`{"key":%q,"limit":9,"window":%q}`, key, window)
	}
	for _, c := range []struct{ method, path, body, location string }{
		{"PUT", "/v1/sessions", `{"id":"i","ttl":"1m"}`, "body"},
		{"PUT", "/v1/sessions", `{"group":"g","ttl":"1m"}`, "body"},
		{"PUT", "/v1/sessions", `{"group":"","id":"i","ttl":"1m"}`, "body.group"},
		{"PUT", "/v1/sessions", `{"group":"g","id":"a\u0000","ttl":"1m"}`, "body.id"},
		{"PUT", "/v1/sessions", `{"group":"g","id":"` + strings.Repeat("x", 513) + `","ttl":"1m"}`, "body.id"},
		{"PUT", "/v1/sessions", `{"group":"g","id":"i"}`, "body"},
		{"PUT", "/v1/sessions", session(`"ttl":60`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":null`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":""`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":"soon"`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":"-1m"`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":"12h1d"`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":"30d1s"`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":"999ms"`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":"720h1ms"`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":"99999999999999999h"`), "body.ttl"},
		{"PUT", "/v1/sessions", session(`"ttl":"1m","data":[1]`), "body.data"},
		{"PUT", "/v1/sessions", session(`"ttl":"1m","data":{"a":1e200}`), "body.data.a"},
		{"PUT", "/v1/sessions", session(`"ttl":"1m","data":{"a":"` + strings.Repeat("x", 400<<10) + `"}`), "body.data"},
		{"PUT", "/v1/sessions", session(`"ttl":"1m","data":{"` + strings.Repeat("x", 1<<16) + `":1}`), "body.data"},
		{"PUT", "/v1/sessions", session(`"ttl":"1m","TTL":"1m"`), "body.TTL"},
		{"DELETE", "/v1/sessions?group=g", ``, "query.id"},
		{"DELETE", "/v1/sessions?id=i", ``, "query.group"},
		{"DELETE", "/v1/sessions?group=&id=i", ``, "query.group"},
		{"DELETE", "/v1/sessions?group=g&id=i&id=j", ``, "query.id"},
		{"DELETE", "/v1/sessions?group=g&id=%00", ``, "query.id"},
		{"POST", "/v1/limits", `{"limit":1,"window":"1m"}`, "body"},
		{"POST", "/v1/limits", limit(`"window":"1m"`), "body"},
		{"POST", "/v1/limits", limit(`"limit":1`), "body"},
		{"POST", "/v1/limits", limit(`"limit":0,"window":"1m"`), "body.limit"},
		{"POST", "/v1/limits", limit(`"limit":-5,"window":"1m"`), "body.limit"},
		{"POST", "/v1/limits", limit(`"limit":1000000001,"window":"1m"`), "body.limit"},
		{"POST", "/v1/limits", limit(`"limit":1.5,"window":"1m"`), "body.limit"},
		{"POST", "/v1/limits", limit(`"limit":"9","window":"1m"`), "body.limit"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":"0s"`), "body.window"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":"1500ms"`), "body.window"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":"721h"`), "body.window"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":"MONTH"`), "body.window"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":"-1ns"`), "body.window"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":"1m","hits":0`), "body.hits"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":"1m","hits":1.5`), "body.hits"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":"1m","sliding":1`), "body.sliding"},
		{"POST", "/v1/limits", `{}`, "body"},
		{"POST", "/v1/limits", `{"limits":[]}`, "body.limits"},
		{"POST", "/v1/limits", `{"limits":[` + strings.Repeat(several("a", "1m")+",", 10) + several("b", "1m") + `]}`, "body.limits"},
		{"POST", "/v1/limits", `{"limits":[` + several("a", "1m") + `,` + several("b", "1m") + `,` + several("a", "60s") + `]}`, "body.limits[2].key"},
		{"POST", "/v1/limits", `{"limits":[` + several("a", "month") + `,` + several("a", "month") + `]}`, "body.limits[1].key"},
		{"POST", "/v1/limits", `{"limits":[` + several("a", "1m") + `,` + several("b", "2weeks") + `]}`, "body.limits[1].window"},
		{"POST", "/v1/limits", `{"limits":[` + several("a", "1m") + `,` + several("b", "721h") + `]}`, "body.limits[1].window"},
		{"POST", "/v1/limits", `{"limits":[{"key":"a","limit":1,"window":"1m","hits":0}]}`, "body.limits[0].hits"},
		{"POST", "/v1/limits", `{"limits":[{"key":"a","window":"1m"}]}`, "body.limits[0]"},
		{"POST", "/v1/limits", `{"limits":[{"key":"a","limit":1,"window":"1m","of":1}]}`, "body.limits[0].of"},
		{"POST", "/v1/limits", `{"limits":[` + several("a", "1m") + `],"key":"b"}`, "body.limits"},
		{"POST", "/v1/limits", `{"limits":[` + several("a", "1m") + `],"hits":2}`, "body.limits"},
		{"POST", "/v1/limits", `{"limits":[` + several("a", "1m") + `],"key":"b","limit":1,"window":"1m"}`, "body.limits"},
		{"POST", "/v1/limits", limit(`"limit":9,"window":60`), "body.window"},
	} {
		wantProblem(t, fmt.Sprintf("%s %s %.80s", c.method, c.path, c.body), r.send(c.method, c.path, c.body), 422, c.location)
	}
	r.wantNothingWritten()
}

// TestSeveralLimitsInOneCall checks the answers and headers of calls with several limits, some keyed: hits above one,
// hits given back, a month and a sliding window. A call that one limit rejects counts nothing.
func TestSeveralLimitsInOneCall(t *testing.T) {
	r := newRig(t)
	now := time.Date(2124, 2, 10, 12, 30, 0, 0, time.UTC)
	r.service.now = func() time.Time { return now }
	const day, month, hour = "2124-02-11T00:00:00.000Z", "2124-03-01T00:00:00.000Z", "2124-02-10T13:00:00.000Z"
	state := func(key string, allowed bool, used, of int64, resets string) string {
		return fmt.Sprintf(`{"key":%q,"allowed":%t,"used":%d,"remaining":%d,"resets_at":%q}`, key, allowed, used, of-used, resets)
	}
	calls := func(requests, tokens, sliding int) string {
		return fmt.Sprintf(`{"limits":[{"key":"requests","limit":3,"window":"1d","hits":%d},{"key":"tokens/#é","limit":1000,"window":"month","hits":%d},{"key":"tokens/#é","limit":600,"window":"1h","sliding":true,"hits":%d}]}`, requests, tokens, sliding)
	}
	for i, c := range []struct {
		body, key string
		allowed   bool
		used      [3]int64
		rejects   [3]bool
		policy    string // and the rest of the headers
	}{
		{calls(1, 400, 400), "", true, [3]int64{1, 400, 400}, [3]bool{}, ""},
		{calls(1, 601, 1), "", false, [3]int64{1, 400, 400}, [3]bool{1: true}, `"limit";q=1000;w=2505600 "limit";r=600;t=1683000`},
		{calls(3, 601, 1), "a", false, [3]int64{1, 400, 400}, [3]bool{true, true, false}, `"limit";q=1000;w=2505600 "limit";r=600;t=1683000`},
		{calls(1, 600, 200), "b", true, [3]int64{2, 1000, 600}, [3]bool{}, ""},
		{calls(1, 600, 200), "b", true, [3]int64{2, 1000, 600}, [3]bool{}, ""},
		{calls(-9, -700, -300), "", true, [3]int64{0, 300, 300}, [3]bool{}, ""},
		{calls(-1, -50, -400), "c", true, [3]int64{0, 250, 0}, [3]bool{}, ""},
		{calls(2, 5, 601), "", false, [3]int64{0, 250, 0}, [3]bool{2: true}, `"limit";q=600;w=3600 "limit";r=600;t=1800`},
	} {
		var keyed []string
		if c.key != "" {
			keyed = []string{"Idempotency-Key", c.key}
		}
		got := r.post("/v1/limits", c.body, keyed...)
		want := fmt.Sprintf(`{"allowed":%t,"limits":[%s,%s,%s]}`, c.allowed, state("requests", !c.rejects[0], c.used[0], 3, day), state("tokens/#é", !c.rejects[1], c.used[1], 1000, month), state("tokens/#é", !c.rejects[2], c.used[2], 600, hour))
		headers := strings.TrimSpace(got.header.Get("RateLimit-Policy") + " " + got.header.Get("RateLimit"))
		if got.status != 200 || strings.TrimSpace(string(got.body)) != want || headers != c.policy || (got.header.Get("Retry-After") == "") != c.allowed {
			t.Errorf("call %d: %d %s %q, Retry-After %s; want %s %q", i, got.status, got.body, headers, got.header.Get("Retry-After"), want, c.policy)
		}
	}
}

// TestKeyedSessionsAndHits checks that keyed calls are applied once, and that retries get the same answer.
func TestKeyedSessionsAndHits(t *testing.T) {
	r := newRig(t)
	begin := time.Now()
	r.service.now = func() time.Time { return enginetest.Later.Add(time.Since(begin)) }
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/v1/sessions", `{"group":"g","id":"i","ttl":"1h"}`},
		{"POST", "/v1/limits", `{"key":"k","limit":1,"window":"720h"}`},
		{"DELETE", "/v1/sessions?group=g&id=i", ``},
	} {
		key := strings.ToLower(c.method) + "-1"
		first := r.send(c.method, c.path, c.body, "Idempotency-Key", key)
		time.Sleep(2 * time.Millisecond) // a new answer would have another time
		again := r.send(c.method, c.path, c.body, "Idempotency-Key", key)
		if first.status >= 300 || again.status != first.status || !bytes.Equal(first.body, again.body) {
			t.Errorf("%s %s: %d %s, then %d %s", c.method, c.path, first.status, first.body, again.status, again.body)
		}
	}
	var out limitAnswer
	r.post("/v1/limits", `{"key":"k","limit":1,"window":"720h"}`, "Idempotency-Key", "post-2").decode(t, &out)
	if out.Allowed || *out.Used != 1 {
		t.Errorf("a hit with another key: %+v, want one that is not allowed", out)
	}
	put := r.send(http.MethodPut, "/v1/sessions", `{"group":"g","id":"i","ttl":"1h"}`)
	if again := r.end("g", "i", "Idempotency-Key", "delete-1"); put.status != 200 || again.status != 204 || r.active("g") != 1 {
		t.Errorf("a repeated end after a new session: %d, %d, %d active; want 200, 204 and 1", put.status, again.status, r.active("g"))
	}
	for _, other := range []answer{
		r.end("g", "other", "Idempotency-Key", "delete-1"),
		r.send(http.MethodPut, "/v1/sessions", `{"group":"g","id":"i","ttl":"2h"}`, "Idempotency-Key", "put-1"),
		r.post("/v1/limits", `{"key":"k","limit":2,"window":"720h"}`, "Idempotency-Key", "post-1"),
	} {
		if other.status != 409 {
			t.Errorf("another call with a known key: %d %s, want a 409", other.status, other.body)
		}
	}
}

// TestHitsAreAnswered checks the answers to the hits of a limit of 3, up to the first that is not allowed.
func TestHitsAreAnswered(t *testing.T) {
	r := newRig(t)
	now := time.Date(2126, 1, 5, 12, 34, 56, 0, time.UTC)
	r.service.now = func() time.Time { return now }
	for i := 1; i <= 4; i++ {
		got := r.post("/v1/limits", `{"key":"login/ann#1","limit":3,"window":"1h"}`)
		if want := fmt.Sprintf(`{"allowed":%t,"used":%d,"remaining":%d,"resets_at":"2126-01-05T13:00:00.000Z"}`, i <= 3, min(i, 3), max(0, 3-i)); got.status != 200 || strings.TrimSpace(string(got.body)) != want {
			t.Errorf("hit %d: %d %s, want %s", i, got.status, got.body, want)
		}
	}
}
