package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// thing is an item of a call.
type thing struct {
	Name Name   `json:"name"`
	N    int64  `json:"n"`
	Time *Time  `json:"time,omitempty"`
	Data Object `json:"data,omitempty"`
}

type thingsInput struct {
	Since DurationText `query:"since" default:"15m"`
	At    Time         `query:"at"`
	Body  struct {
		Things []thing `json:"things" minItems:"1" maxItems:"500"`
	}
	RawBody []byte
}

func (in *thingsInput) Resolve(ctx huma.Context) []error { return Decode(ctx, in.RawBody, &in.Body) }

// things returns a handler with one write, and the number of items that it accepted.
func things(log *bytes.Buffer) (http.Handler, *int) {
	accepted := new(int)
	type output struct{ Body struct{ Accepted int } }
	routes := func(api *API) {
		Register(api, Operation(ForCallers, http.MethodPost, "/things", "things", "Things", ""), func(_ context.Context, in *thingsInput) (*output, error) {
			if _, fault := in.Since.Within(time.Second, time.Hour, time.Millisecond); fault != "" {
				return nil, InvalidAt("query.since", fault, in.Since)
			}
			*accepted += len(in.Body.Things)
			out := &output{}
			out.Body.Accepted = *accepted
			return out, nil
		})
	}
	return New(slog.New(slog.NewTextHandler(log, nil)), routes), accepted
}

// send sends a POST with headers, given as alternating names and values.
func send(t *testing.T, handler http.Handler, path string, body io.Reader, header ...string) (*httptest.ResponseRecorder, huma.ErrorModel) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, body)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	var problem huma.ErrorModel
	if err := json.Unmarshal(answer.Body.Bytes(), &problem); err != nil {
		t.Fatalf("%d %s: %v", answer.Code, answer.Body, err)
	}
	return answer, problem
}

const good = `{"things":[{"name":"a","n":1}]}`

// members returns n unknown members of an object.
func members(n int, name string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `,"%s%x":0`, name, i)
	}
	return text.String()
}

// TestErrorResponsesAreBounded checks that an error response has up to 100 faults and the number of the others. It has
// no more than 64 KB.
func TestErrorResponsesAreBounded(t *testing.T) {
	handler, accepted := things(&bytes.Buffer{})
	list := func(one string, n int) string { return `{"things":[` + strings.Repeat(one+",", n-1) + one + `]}` }
	for name, c := range map[string]struct {
		body, query string
		faults      int // 0 for any number
	}{
		"members of an item":           {body: `{"things":[{"name":"a","n":1` + members(5000, "x") + `}]}`, faults: 5000},
		"members at the top":           {body: `{"things":[{"name":"a","n":1}]` + members(5000, "x") + `}`, faults: 5000},
		"members of many items":        {body: list(`{"name":"a","n":1`+members(30, "x")+`}`, 500), faults: 15000},
		"members with escaped names":   {body: `{"things":[{"name":"a","n":1` + members(500, strings.Repeat(`\u0001`, 250)) + `}]}`, faults: 500},
		"members with large values":    {body: `{"things":[{"name":"a","n":1` + strings.ReplaceAll(members(200, "x"), ":0", `:"`+strings.Repeat(`\u0001`, 2000)+`"`) + `}]}`, faults: 200},
		"items of a wrong type":        {body: list(`0`, 20_000), faults: 20_001},
		"items without a member":       {body: list(`{}`, 20_000), faults: 40_001},
		"names that are invalid":       {body: list(`{"name":"\u0000","n":1}`, 500), faults: 500},
		"a large list for a text":      {body: `{"things":[{"name":[` + strings.Repeat("0,", 100_000) + `0],"n":1}]}`, faults: 1},
		"a long time":                  {body: `{"things":[{"name":"a","n":1,"time":"` + strings.Repeat("1", 100_000) + `"}]}`, faults: 1},
		"a large name twice":           {body: `{"things":[{"name":"a","n":1,"data":{"` + strings.Repeat("x", 100_000) + `":1,"` + strings.Repeat("x", 100_000) + `":1}}]}`, faults: 1},
		"many parameters":              {body: good, query: "?" + strings.ReplaceAll(members(5000, "x"), `,"`, "&a"), faults: 5000},
		"a long parameter":             {body: good, query: "?since=" + strings.Repeat("x", 100_000), faults: 1},
		"a name of dots":               {body: `{"things":[{"name":"a","n":1,"` + strings.Repeat(".", 100_000) + `":0}]}`, faults: 1},
		"a query that can't be read":   {body: good, query: "?" + strings.Repeat("%zz", 10_000), faults: 1},
		"many lists inside each other": {body: `{"things":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`},
	} {
		c.query = strings.NewReplacer(`"`, "", ":0", "=0").Replace(c.query)
		answer, problem := send(t, handler, "/things"+c.query, strings.NewReader(c.body))
		if answer.Code/100 != 4 || answer.Body.Len() > 64<<10 || len(problem.Errors) == 0 || len(problem.Errors) > maxFaults+1 {
			t.Errorf("%s: %d with %d bytes, %d faults: %.200s", name, answer.Code, answer.Body.Len(), len(problem.Errors), answer.Body)
			continue
		}
		named, last := len(problem.Errors), problem.Errors[len(problem.Errors)-1]
		if more, ok := last.Value.(float64); ok && last.Message == fmt.Sprintf("and %.0f more faults", more) {
			named += int(more) - 1
		}
		if c.faults != 0 && named != c.faults {
			t.Errorf("%s: %d faults, want %d; the last is %+v", name, named, c.faults, last)
		}
	}
	if *accepted != 0 {
		t.Errorf("%d items were accepted, want none", *accepted)
	}
}

// TestAnyAcceptIsAnswered checks that an Accept header, even a malformed one, never changes the response.
func TestAnyAcceptIsAnswered(t *testing.T) {
	var log bytes.Buffer
	handler, accepted := things(&log)
	accepts := []string{"", "*/*", "text/html;,*/*", "application/json;,text/plain", "text/html;q=0.5;,*/*", ";a,", "text/html", ",", ";", ";,", " ;\t,;", "\xff;,"}
	for _, accept := range accepts {
		answer, _ := send(t, handler, "/things", strings.NewReader(good), "Accept", accept)
		if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("Accept: %q: %d %s", accept, answer.Code, answer.Body)
		}
		answer, _ = send(t, handler, "/things", strings.NewReader(`{}`), "Accept", accept)
		if answer.Code != http.StatusUnprocessableEntity || answer.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("Accept: %q: %d %s", accept, answer.Code, answer.Body)
		}
	}
	if *accepted != len(accepts) || log.Len() > 0 {
		t.Errorf("%d items were accepted, want %d; the log is %q", *accepted, len(accepts), log.String())
	}
}

// TestMediaTypes checks that a body must be declared as JSON, which other sites' pages can't send.
func TestMediaTypes(t *testing.T) {
	handler, accepted := things(&bytes.Buffer{})
	want := 0
	for _, c := range []struct {
		kind, encoding string
		status         int
	}{
		{"application/json", "", 200},
		{"application/json; charset=utf-8", "", 200},
		{`Application/JSON;charset="UTF-8"`, "identity", 200},
		{"", "", 415},
		{"text/plain", "", 415},
		{"application/x-www-form-urlencoded", "", 415},
		{"application/vnd.api+json", "", 200},
		{"text/x+json", "", 415},
		{"application/json; charset=utf-16", "", 415},
		{"application/json; charset=", "", 415},
		{"application/json", "gzip", 415},
		{"application/json", "aws-chunked", 415},
	} {
		answer, problem := send(t, handler, "/things", strings.NewReader(good), "Content-Type", c.kind, "Content-Encoding", c.encoding)
		if answer.Code != c.status || c.status == 415 && (len(problem.Errors) != 1 || !strings.HasPrefix(problem.Errors[0].Location, "header.Content-")) {
			t.Errorf("%q %q: %d %s, want %d", c.kind, c.encoding, answer.Code, answer.Body, c.status)
		}
		if c.status == 200 {
			want++
		}
	}
	if *accepted != want {
		t.Errorf("%d items were accepted, want %d", *accepted, want)
	}
}

// TestBodiesCutOff checks that an incomplete body is a 400.
func TestBodiesCutOff(t *testing.T) {
	handler, _ := things(&bytes.Buffer{})
	answer, problem := send(t, handler, "/things", io.MultiReader(strings.NewReader(good[:10]), broken{}))
	if answer.Code != 400 || problem.Status != 400 || len(problem.Errors) != 1 || problem.Errors[0].Location != "body" || problem.Errors[0].Value != nil {
		t.Errorf("%d %s, want a 400 at body", answer.Code, answer.Body)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestTimesAndDurations checks that times are parsed the same in bodies and parameters, with the same errors, and which
// durations are valid.
func TestTimesAndDurations(t *testing.T) {
	handler, _ := things(&bytes.Buffer{})
	for text, reason := range map[string]callerText{
		"2026-11-21T10:00:05Z": "", "2026-11-21t10:00:05.125z": "", "2026-11-21T10:00:05.123456789+02:00": "",
		"2026-11-21T10:00:05,5Z": errNotTime, "2026-11-21T1:00:05Z": errNotTime, "2026-11-21T10:00:05+24:00": errNotTime,
		"2026-11-21 10:00:05Z": errNotTime, "2026-11-21T10:00:05 01:00": errPlus, "2026-11-21": errNotTime, "yesterday": errNotTime, "2026-02-30T00:00:00Z": errNotTime,
		"9999-12-31T23:59:59.9999Z": "", "9999-12-31T23:59:59-00:01": errYear, "2016-12-31T23:59:60Z": errNotTime,
		"0000-01-01T00:00:00Z": "", "0000-01-01T00:00:00+00:01": errYear,
	} {
		fits := reason == ""
		inBody, bodyFault := send(t, handler, "/things", strings.NewReader(`{"things":[{"name":"a","n":1,"time":"`+text+`"}]}`))
		inQuery, queryFault := send(t, handler, "/things?at="+strings.NewReplacer("+", "%2B", " ", "%20").Replace(text), strings.NewReader(good))
		if (inBody.Code == 200) != fits || (inQuery.Code == 200) != fits {
			t.Errorf("%s: %d %s, %d %s", text, inBody.Code, inBody.Body, inQuery.Code, inQuery.Body)
			continue
		}
		for place, problem := range map[string]huma.ErrorModel{"body.things[0].time": bodyFault, "query.at": queryFault} {
			if fits {
				continue
			}
			if e := problem.Errors; len(e) != 1 || e[0].Location != place || e[0].Message != string(reason) || e[0].Value != text {
				t.Errorf("%s: %+v, want one error at %s: %s", text, problem, place, reason)
			}
		}
	}
	for text, fits := range map[string]bool{"15m": true, "1h": true, "1m30.5s": true, "0s": false, "2h": false, "-5m": false, "1us": false, ".5m": false, "15": false, "+5m": false, "an hour": false} {
		answer, problem := send(t, handler, "/things?since="+strings.NewReplacer("+", "%2B", " ", "%20").Replace(text), strings.NewReader(good))
		if (answer.Code == 200) != fits || !fits && (len(problem.Errors) != 1 || problem.Errors[0].Value != text) {
			t.Errorf("since=%s: %d %s, want accepted %t", text, answer.Code, answer.Body, fits)
		}
	}
}

// TestPlacesOfFaults checks the status, location and message of faults in a body.
func TestPlacesOfFaults(t *testing.T) {
	handler, _ := things(&bytes.Buffer{})
	for _, c := range []struct {
		status                  int
		body, location, message string
	}{
		{400, `{"things":[{"name":"a","n":1,"data":{"a\u0000b":1,"a\u0000b":2}}]}`, "body.things[0].data.a\x00b", "duplicate"},
		{422, `{"things":[{"name":"a","n":1.5}]}`, "body.things[0].n", "integer"},
		{422, `{"things":[{"name":"a","n":1e30}]}`, "body.things[0].n", "whole number"},
		{422, `{"things":[{"name":"a","n":1,"x.y":2}]}`, "body.things[0].x.y", "unexpected"},
		{400, `{"things":[{"name":"a","n":}]}`, "body.things[0].n", "at byte"},
	} {
		_, problem := send(t, handler, "/things", strings.NewReader(c.body))
		if e := problem.Errors; problem.Status != c.status || len(e) != 1 || e[0].Location != c.location || !strings.Contains(e[0].Message, c.message) {
			t.Errorf("%s: %+v, want %+v", c.body, problem, c)
		}
	}
}

// TestPanicIsAnInternalError checks that a panic is logged with its stack and is a 500 without its message.
func TestPanicIsAnInternalError(t *testing.T) {
	var log bytes.Buffer
	handler := New(slog.New(slog.NewTextHandler(&log, nil)), func(api *API) {
		Register(api, Operation(ForCallers, http.MethodGet, "/things", "things", "Things", ""), func(context.Context, *struct{}) (*struct{}, error) {
			panic("oops")
		})
	})
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/things", nil))
	id := answer.Header().Get("X-Request-Id")
	if answer.Code != 500 || id == "" || !strings.Contains(answer.Body.String(), id) || strings.Contains(answer.Body.String(), "oops") {
		t.Errorf("%d %v %s", answer.Code, answer.Header(), answer.Body)
	}
	if !strings.Contains(log.String(), "fault=oops") || !strings.Contains(log.String(), "goroutine") || !strings.Contains(log.String(), id) {
		t.Errorf("the log is %s", log.String())
	}
}

// TestUnknownPaths checks that unknown paths are a 404 in problem JSON, even those that a mux would redirect.
func TestUnknownPaths(t *testing.T) {
	handler, _ := things(&bytes.Buffer{})
	for _, path := range []string{"*", "/things/", "/nothing", "/", "//healthz", "/x//things", "/x/../healthz"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		request.URL.Path = path
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		header, text := answer.Header(), answer.Body.String()
		if answer.Code != 404 || header.Get("Content-Type") != "application/problem+json" || header.Get("X-Request-Id") == "" || header.Get("Location") != "" ||
			!strings.Contains(text, `"status":404`) || !strings.Contains(text, `"title":"`) || !strings.Contains(text, `"detail":"`) || strings.Contains(text, "=") {
			t.Errorf("%s: %d %v %s", path, answer.Code, header, text)
		}
	}
}

// TestDetailOfUnsentWrites checks that a write that waited too long does not blame DynamoDB's capacity alone.
func TestDetailOfUnsentWrites(t *testing.T) {
	err := fmt.Errorf("score of %q: %w", "ann", dynamo.ErrUnsent)
	if got, want := Detail(err), "no capacity: it was not sent, since earlier writes of the call took too long"; got != want {
		t.Errorf("Detail(%v) = %q, want %q", err, got, want)
	}
}
