package ingest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestMalformedWritesChangeNothing checks the status and the location for each kind of invalid event and increment.
func TestMalformedWritesChangeNothing(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("é", 257)
	many := func(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	event := func(rest string) string { return `{"events":[{"entity":"e",` + rest + `}]}` }
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	cases := []struct {
		name, path, body string
		status           int
		location         string
	}{
		{"no body", "/v1/events", ``, 400, ""},
		{"not JSON", "/v1/events", `{"events":[`, 400, "body"},
		{"two values", "/v1/events", `{"events":[{"entity":"e"}]} {}`, 400, "body"},
		{"invalid UTF-8", "/v1/events", "{\"events\":[{\"entity\":\"\xff\"}]}", 400, "body.events[0].entity"},
		{"lone surrogate", "/v1/events", `{"events":[{"entity":"\ud800"}]}`, 400, "body.events[0].entity"},
		{"repeated name", "/v1/events", `{"events":[{"entity":"e","entity":"f"}]}`, 400, "body.events[0].entity"},
		{"an array", "/v1/events", `[]`, 422, "body"},
		{"null", "/v1/events", `null`, 422, "body"},
		{"no events", "/v1/events", `{}`, 422, "body"},
		{"empty events", "/v1/events", `{"events":[]}`, 422, "body.events"},
		{"501 events", "/v1/events", `{"events":[` + many(`{"entity":"e"}`, 501) + `]}`, 422, "body.events"},
		{"unknown field", "/v1/events", `{"events":[{"entity":"e","Entity":"f"}]}`, 422, "body.events[0].Entity"},
		{"unknown top field", "/v1/events", `{"events":[{"entity":"e"}],"x":1}`, 422, "body.x"},
		{"no entity", "/v1/events", `{"events":[{"id":"x"}]}`, 422, "body.events[0]"},
		{"empty entity", "/v1/events", `{"events":[{"entity":""}]}`, 422, "body.events[0].entity"},
		{"entity of a wrong type", "/v1/events", `{"events":[{"entity":7}]}`, 422, "body.events[0].entity"},
		{"long entity", "/v1/events", `{"events":[{"entity":"` + long + `"}]}`, 422, "body.events[0].entity"},
		{"control character", "/v1/events", `{"events":[{"entity":"a\u0000b"}]}`, 422, "body.events[0].entity"},
		{"C1 control character", "/v1/events", `{"events":[{"entity":"a\u0085b"}]}`, 422, "body.events[0].entity"},
		{"empty id", "/v1/events", event(`"id":""`), 422, "body.events[0].id"},
		{"long id", "/v1/events", event(`"id":"` + long + `","time":"2026-01-05T00:00:00Z"`), 422, "body.events[0].id"},
		{"id without time", "/v1/events", event(`"id":"x"`), 422, "body.events[0].time"},
		{"no time", "/v1/events", event(`"time":"yesterday"`), 422, "body.events[0].time"},
		{"a number as time", "/v1/events", event(`"time":1767225600`), 422, "body.events[0].time"},
		{"month 13", "/v1/events", event(`"time":"2026-13-01T00:00:00Z"`), 422, "body.events[0].time"},
		{"before 1970", "/v1/events", event(`"time":"1969-12-31T23:59:59Z"`), 422, "body.events[0].time"},
		{"ahead", "/v1/events", event(`"time":"2999-01-01T00:00:00Z"`), 422, "body.events[0].time"},
		{"a ULID ahead", "/v1/events", event(`"id":"7ZZZZZZZZZZZZZZZZZZZZZZZZZ"`), 422, "body.events[0].id"},
		{"null events", "/v1/events", `{"events":null}`, 422, "body.events"},
		{"deep empty lists", "/v1/events", event(`"data":{"a":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`), 422, "body.events[0].data.a[0]"},
		{"a huge exponent", "/v1/counters", `{"increments":[{"counter":"c","delta":1e300}]}`, 422, "body.increments[0].delta"},
		{"an exponent below", "/v1/counters", `{"increments":[{"counter":"c","delta":1e-1}]}`, 422, "body.increments[0].delta"},
		{"a deep body", "/v1/counters", strings.Repeat("[", 20_000), 400, "body[0][0]"},
		{"a number beyond all", "/v1/events", event(`"data":{"a":1e400}`), 422, "body.events[0].data.a"},
		{"data not an object", "/v1/events", event(`"data":[1]`), 422, "body.events[0].data"},
		{"39 digits", "/v1/events", event(`"data":{"a":{"b":[1,123456789012345678901234567890123456789]}}`), 422, "body.events[0].data.a.b[1]"},
		{"1e200", "/v1/events", event(`"data":{"a":1e200}`), 422, "body.events[0].data.a"},
		{"deep data", "/v1/events", event(`"data":` + deep), 422, "body.events[0].data.a.a"},
		{"empty name in data", "/v1/events", event(`"data":{"":1}`), 422, "body.events[0].data"},
		{"a long name in data", "/v1/events", event(`"data":{"a":{"` + strings.Repeat("x", 50_001) + `":1}}`), 422, "body.events[0].data.a"},
		{"one long name of two", "/v1/events", `{"events":[{"entity":"e"},{"entity":"e","data":{"` + strings.Repeat("x", 1<<16) + `":1}}]}`, 422, "body.events[1].data"},
		{"large data", "/v1/events", event(`"data":{"a":"` + strings.Repeat("x", 400<<10) + `"}`), 422, "body.events[0].data"},
		{"one bad of two", "/v1/events", `{"events":[{"entity":"e"},{"entity":"e","time":"x"}]}`, 422, "body.events[1].time"},
		{"large body", "/v1/events", `{"events":[{"entity":"` + strings.Repeat("x", httpapi.MaxBody) + `"}]}`, 413, ""},
		{"no increments", "/v1/counters", `{}`, 422, "body"},
		{"empty increments", "/v1/counters", `{"increments":[]}`, 422, "body.increments"},
		{"501 increments", "/v1/counters", `{"increments":[` + many(`{"counter":"c","delta":1}`, 501) + `]}`, 422, "body.increments"},
		{"no counter", "/v1/counters", `{"increments":[{"delta":1}]}`, 422, "body.increments[0]"},
		{"no delta", "/v1/counters", `{"increments":[{"counter":"c"}]}`, 422, "body.increments[0]"},
		{"delta 0", "/v1/counters", `{"increments":[{"counter":"c","delta":1},{"counter":"c","delta":0}]}`, 422, "body.increments[1].delta"},
		{"a fraction", "/v1/counters", `{"increments":[{"counter":"c","delta":1.5}]}`, 422, "body.increments[0].delta"},
		{"a text as delta", "/v1/counters", `{"increments":[{"counter":"c","delta":"1"}]}`, 422, "body.increments[0].delta"},
		{"no such path", "/v1/count", `{}`, 404, ""},
	}
	for _, c := range cases {
		wantProblem(t, c.name, r.post(c.path, c.body), c.status, c.location)
	}
	r.wantNothingWritten()
}

// wantProblem checks that a response is a whole problem with this status. Unless location is "", it must have an error
// whose location begins with it.
func wantProblem(t *testing.T, what string, got answer, status int, location string) {
	t.Helper()
	var problem struct {
		Title, Detail string
		Status        int
		Errors        []struct {
			Location, Message string
			Value             any
		}
	}
	got.decode(t, &problem)
	if got.status != status || problem.Status != status || problem.Title == "" || problem.Detail == "" || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s: got %d %v %.300s, want a problem with %d", what, got.status, got.header, got.body, status)
	}
	if len(got.body) > 20_000 {
		t.Errorf("%s: the problem has %d bytes, want at most 20,000", what, len(got.body))
	}
	if location == "" {
		return
	}
	for _, e := range problem.Errors {
		if strings.HasPrefix(e.Location, location) && e.Message != "" {
			return
		}
	}
	t.Errorf("%s: no error is at %s: %.500s", what, location, got.body)
}

// TestEventsAreAnswered checks the ids and times of events: given, made, and from a ULID. Equal ids are one item.
func TestEventsAreAnswered(t *testing.T) {
	r := newRig(t)
	got := r.post("/v1/events", `{"events":[
		{"entity":"a/b#ü","id":"x/1","time":"2026-01-05T12:00:00.1239+02:00","data":{"t":21.50,"big":12345678901234567890}},
		{"entity":"a/b#ü"},
		{"entity":"a/b#ü","id":"01ARZ3NDEKTSV4RRFFQ69G5FAV"},
		{"entity":"a/b#ü","id":"x/1","time":"2026-01-05T10:00:00.123Z"}]}`)
	var out eventsAnswer
	got.decode(t, &out)
	if got.status != 200 || out.Accepted != 4 || out.Rejected != 0 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if out.Results[0].Time != "2026-01-05T10:00:00.123Z" || out.Results[3] != out.Results[0] {
		t.Errorf("given times: %+v", out.Results)
	}
	if len(out.Results[1].ID) != 26 || out.Results[2].Time != "2016-07-30T23:54:10.259Z" {
		t.Errorf("ULIDs: %+v", out.Results)
	}
	if n := r.items(); n != 3 {
		t.Errorf("%d items, want 3", n)
	}
}

// TestCountersCoalesce checks that increments of one counter become one write, and none if their sum is 0.
func TestCountersCoalesce(t *testing.T) {
	r := newRig(t)
	got := r.post("/v1/counters", `{"increments":[{"counter":"a","delta":5},{"counter":"b","delta":7},
		{"counter":"a","delta":-2},{"counter":"b","delta":-7}]}`)
	var out countersAnswer
	got.decode(t, &out)
	if got.status != 200 || out.Accepted != 4 || len(out.Results) != 4 || out.Results[2].Counter != "a" {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	if r.sum("a") != "3" || r.sum("b") != "0" || r.items() != 1 {
		t.Errorf("a is %s, b is %s, in %d items; want 3, 0 and 1", r.sum("a"), r.sum("b"), r.items())
	}
}

// TestKeyedCallsApplyOnce checks that a keyed call is applied once, and that its key is rejected for any other call.
func TestKeyedCallsApplyOnce(t *testing.T) {
	r := newRig(t)
	body := `{"increments":[{"counter":"a","delta":5},{"counter":"b","delta":1},{"counter":"a","delta":1}]}`
	first := r.post("/v1/counters", body, "Idempotency-Key", "k-1")
	for range 3 {
		again := r.post("/v1/counters", body, "Idempotency-Key", "k-1")
		if again.status != 200 || !bytes.Equal(again.body, first.body) {
			t.Fatalf("got %d %s, the first time %s", again.status, again.body, first.body)
		}
	}
	if r.sum("a") != "6" || r.sum("b") != "1" {
		t.Errorf("a is %s, b is %s; want 6 and 1", r.sum("a"), r.sum("b"))
	}
	if got := r.post("/v1/counters", `{"increments":[{"counter":"a","delta":9}]}`, "Idempotency-Key", "k-1"); got.status != 409 {
		t.Errorf("another body: %d %s, want a 409", got.status, got.body)
	}
	if got := r.post("/v1/events", body, "Idempotency-Key", "k-1"); got.status != 422 {
		t.Errorf("another path: %d %s, want a 422", got.status, got.body)
	}
	var one, two eventsAnswer
	r.post("/v1/events", `{"events":[{"entity":"e"}]}`, "Idempotency-Key", "k-2").decode(t, &one)
	r.post("/v1/events", `{"events":[{"entity":"e"}]}`, "Idempotency-Key", "k-2").decode(t, &two)
	if one.Accepted != 1 || one.Results[0] != two.Results[0] {
		t.Errorf("a made id changed: %+v, then %+v", one, two)
	}
}

// TestKeyedCallsAreLimited checks the maximum number of items of a keyed call, and that it has one valid key.
func TestKeyedCallsAreLimited(t *testing.T) {
	r := newRig(t)
	var list []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"counter":"c%d","delta":1}`, i))
	}
	call := func(n int, key ...string) int {
		return r.post("/v1/counters", `{"increments":[`+strings.Join(list[:n], ",")+`]}`, key...).status
	}
	if got := call(100, "Idempotency-Key", "a"); got != 422 {
		t.Errorf("100 keyed increments: %d, want a 422", got)
	}
	if got := call(99, "Idempotency-Key", "b"); got != 200 {
		t.Errorf("99 keyed increments: %d, want a 200", got)
	}
	wantProblem(t, "an invalid key", r.post("/v1/counters", `{"increments":[`+list[0]+`]}`, "Idempotency-Key", "a b"), 422, "header.Idempotency-Key")
	if got := call(1, "Idempotency-Key", "a", "Idempotency-Key", "b"); got != 422 {
		t.Errorf("two keys: %d, want a 422", got)
	}
}

// TestLargestDataFits checks that the engine takes an event and a session with the largest data and the longest names.
func TestLargestDataFits(t *testing.T) {
	r := newRig(t)
	empty, err := httpapi.ParseDocument([]byte(`{"a":""}`))
	require.NoError(t, err)
	most := maxData - dynamo.Size(empty)
	name := strings.Repeat("n", 512)
	for _, c := range []struct {
		more int
		want int
	}{{0, 200}, {1, 422}} {
		data := `"data":{"a":"` + strings.Repeat("x", most+c.more) + `"}`
		event := r.post("/v1/events", `{"events":[{"entity":"`+name+`","id":"`+name+`","time":"2026-01-05T12:00:00Z",`+data+`}]}`)
		session := r.send("PUT", "/v1/sessions", `{"group":"`+name+`","id":"`+name+`","ttl":"1m",`+data+`}`)
		if event.status != c.want || session.status != c.want {
			t.Errorf("%d bytes over the limit: event %d %.200s, session %d %.200s; want %d", c.more, event.status, event.body, session.status, session.body, c.want)
		}
	}
}
