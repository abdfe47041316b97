package functions_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
)

// step is an invocation with an event of events/.
type step struct {
	function, event string
	want            string // the response's JSON, which may omit members
	fault           string // a text in the function error's message, instead of want
}

// sequence begins the sequence numbers of the records in events/.
const sequence = `1116000000000123456789`

const (
	folded = `{"state":{},"batchItemFailures":[]}`
	open   = `{"state":{"v":"2"},"batchItemFailures":[]}` // the window has keys
)

func failed(record string) string {
	return `{"state":{},"batchItemFailures":[{"itemIdentifier":"` + sequence + record + `"}]}`
}

// steps are ordered: later steps read what earlier ones wrote.
var steps = []step{
	// Writes.
	{"ingest", "api-health", `{"statusCode":200,"body":{"status":"ok"}}`, ""},
	{"ingest", "api-put-events", `{"statusCode":200,"body":{"accepted":3,"rejected":0,"results":[
		{"id":"a/b#c ü","time":"2026-01-05T12:00:00.123Z","status":"accepted"},
		{"id":"2","time":"2026-01-05T12:00:00.123Z","status":"accepted"},
		{"id":"01KE70EHQT9XN0R8ZC3V6T4QDA","time":"2026-01-05T12:00:00.250Z","status":"accepted"}]}}`, ""},
	{"ingest", "api-put-events-base64", `{"statusCode":200,"body":{"accepted":1}}`, ""},
	{"ingest", "api-add-counters", `{"statusCode":200,"body":{"accepted":3,"results":[
		{"counter":"page/home#1","status":"accepted"},{"counter":"café 日本","status":"accepted"},{"counter":"page/home#1"}]}}`, ""},
	{"ingest", "api-add-counters-keyed", `{"statusCode":200,"body":{"accepted":1}}`, ""},
	{"ingest", "api-add-counters-keyed", `{"statusCode":200,"body":{"accepted":1}}`, ""},
	{"ingest", "api-body-cut-short", `{"statusCode":400,"body":{"status":400,"errors":[{"location":"body.events[0]"}]}}`, ""},
	{"ingest", "api-body-breaks-rules", `{"statusCode":422,"body":{"status":422}}`, ""},
	{"ingest", "api-no-such-path", `{"statusCode":404,"body":{"status":404,"detail":"there is no /v1/nothing"}}`, ""},

	{"ingest", "api-put-session", `{"statusCode":200,"body":{"group":"shop/eu#1","id":"user ü"}}`, ""},
	{"ingest", "api-end-session", `{"statusCode":204}`, ""},
	{"ingest", "api-hit-limit", `{"statusCode":200,"body":{"allowed":true,"used":1,"remaining":4}}`, ""},
	{"ingest", "api-hit-limit-bad", `{"statusCode":422,"body":{"status":422}}`, ""},
	{"ingest", "api-put-leaderboard", `{"statusCode":200,"body":{"board":"game/1#eu","mode":"best","size":10,"periods":["all"]}}`, ""},
	{"ingest", "api-submit-scores", `{"statusCode":200,"body":{"accepted":3,"rejected":0,"results":[
		{"player":"ann ü","status":"accepted"},{"player":"bob#1","status":"accepted"},{"player":"ann ü","status":"accepted"}]}}`, ""},
	{"ingest", "api-put-shards", `{"statusCode":200,"body":{"type":"counter","name":"peak/2026","shards":20,"max_shards":20,"pinned":true}}`, ""},

	// Reads of the written data.
	{"query", "api-health", `{"statusCode":200,"body":{"status":"ok"}}`, ""},
	{"query", "api-get-counters", `{"statusCode":200,"body":{"counters":[
		{"counter":"page/home#1","value":3,"shards":1,"consistency":"strong"},{"counter":"café 日本","value":5}]}}`, ""},
	{"query", "api-get-counter-keyed", `{"statusCode":200,"body":{"counter":"orders","value":7}}`, ""},
	{"query", "api-get-event", `{"statusCode":200,"body":{"id":"a/b#c ü","time":"2026-01-05T12:00:00.123Z",
		"data":{"temperature":21.5,"note":"naïve “quote”"}}}`, ""},
	{"query", "api-get-event-missing", `{"statusCode":404,"body":{"status":404}}`, ""},
	{"query", "api-list-events", `{"statusCode":200,"body":{"events":[{"id":"2"},{"id":"a/b#c ü"},{"id":"3"}]}}`, ""},
	{"query", "api-count-sessions", `{"statusCode":200,"body":{"active":1}}`, ""},
	{"query", "api-get-session", `{"statusCode":200,"body":{"group":"shop/eu#1","id":"user ü"}}`, ""},
	{"query", "api-list-sessions", `{"statusCode":200,"body":{"sessions":[{"id":"user ü"}]}}`, ""},
	{"query", "api-get-leaderboard", `{"statusCode":200,"body":{"board":"game/1#eu","entries":[
		{"rank":1,"player":"bob#1","score":40},{"rank":2,"player":"ann ü","score":12.5}]}}`, ""},
	{"query", "api-get-rank", `{"statusCode":200,"body":{"player":"ann ü","score":12.5,"rank":2,"rank_error":0,"neighbors":[
		{"rank":1,"player":"bob#1","score":40}]}}`, ""},
	{"query", "api-get-rank-bad-period", `{"statusCode":422,"body":{"errors":[{"location":"query.period","value":"day"}]}}`, ""},
	{"query", "api-get-shards", `{"statusCode":200,"body":{"type":"counter","name":"peak/2026","shards":20,"pinned":true,
		"history":[{"shards":20,"by":"api","why":"pinned"}]}}`, ""},
	{"query", "api-list-shards", `{"statusCode":200,"body":{"keys":[{"type":"counter","name":"peak/2026","shards":20}]}}`, ""},
	{"query", "api-unknown-parameter", `{"statusCode":422,"body":{"errors":[{"location":"query.consistancy","value":["strong"]}]}}`, ""},
	{"query", "api-bad-parameter", `{"statusCode":422,"body":{"status":422,"errors":[{"location":"query.limit"}]}}`, ""},
	{"query", "api-get-hot-keys", `{"statusCode":200,"body":{"keys":[]}}`, ""},
	{"query", "api-get-heat", `{"statusCode":200,"body":{"step":"10s","rows":[]}}`, ""},
	{"query", "api-openapi", `{"statusCode":200,"body":{"openapi":"3.1.0","paths":{"/v1/events":{"post":{},"get":{}}}}}`, ""},

	// Folds of a stream with redelivered records, and their summary.
	{"aggregator", "stream-insert", failed("0003"), ""}, // an event without a stream shard
	{"aggregator", "stream-modify", folded, ""},
	{"aggregator", "stream-insert", failed("0003"), ""}, // an event without a stream shard
	{"query", "api-get-counter-summary", `{"statusCode":200,"body":{"counter":"page/home#2","value":10,"consistency":"eventual"}}`, ""},
	{"aggregator", "stream-remove", folded, ""},
	{"aggregator", "stream-ttl-remove", folded, ""},
	{"aggregator", "window-first", folded, ""},
	{"query", "api-list-rollups", `{"statusCode":200,"body":{"rollups":[{"start":"2026-01-05T12:00:00.000Z","count":1}]}}`, ""},
	{"aggregator", "window-state", `{"state":{"v":"2"},"batchItemFailures":[]}`, ""},
	{"aggregator", "window-final", `{"state":{"v":"2"},"batchItemFailures":[]}`, ""},
	{"aggregator", "window-early", `{"state":{"v":"2"},"batchItemFailures":[]}`, ""},

	// Invalid records. The aggregator stores failures of their targets and hotkeys counts them; both continue.
	{"aggregator", "bad-record", folded, ""},
	{"aggregator", "bad-counter", folded, ""},
	{"aggregator", "bad-state", `{"state":{"v":"1","window":"%%%"},"batchItemFailures":[]}`, ""},
	{"hotkeys", "bad-record", folded, ""},
	{"hotkeys", "bad-counter", folded, ""},
	{"hotkeys", "bad-state", open, ""},

	// Deliveries with a tumbling window. The states in events/ are hotkeys' responses to the previous events.
	{"hotkeys", "window-first", open, ""},
	{"hotkeys", "window-state", open, ""},
	{"hotkeys", "window-final", folded, ""},
	{"hotkeys", "window-early", folded, ""},

	// One function does both.
	{"reader", "stream-insert", failed("0001"), ""}, // the whole batch, because of record 3
	{"reader", "stream-modify", folded, ""},
	{"reader", "window-first", `{"state":{"lost":"1"},"batchItemFailures":[]}`, ""}, // too old to be counted
	{"reader", "bad-record", folded, ""},
	{"reader", "bad-empty", "", "it has no Records"},
	{"reader", "schedule-compact", `{"done":true}`, ""},
	{"reader", "schedule-shrink", `{"shrunk":0}`, ""},

	// Unreadable payloads are errors of the function.
	{"ingest", "bad-base64", "", "illegal base64 data"},
	{"ingest", "bad-rest-api", "", "not an HTTP API request of payload format 2.0"},
	{"ingest", "bad-sqs-event", "", "not an HTTP API request of payload format 2.0"},
	{"ingest", "bad-empty", "", "not an HTTP API request of payload format 2.0"},
	{"ingest", "bad-cut-short", "", "unexpected"},
	{"query", "bad-rest-api", "", "not an HTTP API request of payload format 2.0"},
	{"aggregator", "bad-cut-short", "", "reading the batch"},
	{"aggregator", "bad-no-sequence-number", "", "record 1, at byte 945, has no SequenceNumber"},
	{"aggregator", "bad-sqs-event", "", "record 0, at byte 21, has no SequenceNumber"},
	{"aggregator", "bad-window", "", "and a later end"},
	{"aggregator", "bad-empty", "", "it has no Records"},
	{"hotkeys", "bad-cut-short", "", "reading the batch"},
	{"hotkeys", "bad-no-sequence-number", "", "record 1, at byte 945, has no SequenceNumber"},
	{"hotkeys", "bad-sqs-event", "", "record 0, at byte 21, has no SequenceNumber"},
	{"hotkeys", "bad-window", "", "and a later end"},
	{"hotkeys", "bad-empty", "", "it has no Records"},

	// All functions still work.
	{"ingest", "api-health", `{"statusCode":200}`, ""},
	{"query", "api-health", `{"statusCode":200}`, ""},
	{"aggregator", "stream-modify", folded, ""},
	{"hotkeys", "stream-modify", folded, ""},
	{"aggregator", "schedule-compact", `{"buckets":0,"merged":0,"tombstones":0,"done":true}`, ""},
	{"aggregator", "schedule-boards", `{"looked":0,"failed":0}`, ""},
	{"hotkeys", "schedule-heat", `{"windows":0,"blocks":0}`, ""},
	{"hotkeys", "schedule-shrink", `{"keys":0,"shrunk":0}`, ""},
}

// TestEvents invokes the built functions with the steps' events, and checks that these are all events of events/. A
// payload that is no event is an error of the function, and does not end the process.
func TestEvents(t *testing.T) {
	d := deploy(t)
	used := map[string]bool{}
	for _, s := range steps {
		used[s.event] = true
		t.Run(s.function+"/"+s.event, func(t *testing.T) {
			d.check(t, s.function, payload(t, s.event), s.want, s.fault)
		})
	}
	for _, name := range fixtures(t) {
		if !used[name] {
			t.Errorf("no step uses events/%s.json", name)
		}
	}
	for name, f := range d.functions {
		for _, text := range []string{"", "null", "[]", "7", `"text"`, "{", "\x00\xff"} {
			response, err := f.Invoke(t.Context(), []byte(text))
			if e, ok := errors.AsType[*runtimeapi.FunctionError](err); !ok || e.Message == "" || strings.HasPrefix(e.Type, "Runtime.") {
				t.Errorf("%s: %q: response %s, error %v; want an error of the function", name, text, response, err)
			}
		}
		select {
		case <-f.Done():
			t.Errorf("the process of %s has ended", name)
		default:
		}
	}
}

// fixtures returns the names of the events in events/.
func fixtures(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "events", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("events/ has the events %q, %v", files, err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".json")
	}
	return files
}
