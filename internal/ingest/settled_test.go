package ingest

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// settingCalls has calls that set something, with bodies of two values.
var settingCalls = []struct{ path, body, other string }{
	{"/v1/leaderboards", `{"board":"g","size":10}`, `{"board":"g","size":20}`},
	{"/v1/shards", `{"type":"counter","name":"c","shards":4}`, `{"type":"counter","name":"c","shards":8}`},
}

// TestKeyedSettingsAreSetOnce checks that a retry returns the first answer and sets nothing.
func TestKeyedSettingsAreSetOnce(t *testing.T) {
	r := newRig(t)
	for _, c := range settingCalls {
		first := r.set(c.path, c.body, "Idempotency-Key", "k"+c.path)
		second := r.set(c.path, c.other)
		again := r.set(c.path, c.body, "Idempotency-Key", "k"+c.path)
		if first.status != 200 || second.status != 200 || again.status != 200 || string(again.body) != string(first.body) {
			t.Errorf("%d %s, and the retry %d %s", first.status, first.body, again.status, again.body)
		}
		if got := r.send(http.MethodPut, c.path, c.other, "Idempotency-Key", "k"+c.path); got.status != 409 {
			t.Errorf("%s with another body: %d %s, want a 409", c.path, got.status, got.body)
		}
		if got := r.send(http.MethodPut, c.path, c.body, "Idempotency-Key", "no key"); got.status != 422 {
			t.Errorf("%s with an invalid key: %d, want a 422", c.path, got.status)
		}
	}
	set, err := r.service.boards.Settings(t.Context(), "g", r.service.now())
	if err != nil || set.Size != 20 {
		t.Errorf("the board has %+v, %v; want size 20", set, err)
	}
	entry, err := shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}).Read(t.Context(), "C#c")
	if err != nil || entry.History.Newest() != 8 {
		t.Errorf("the counter has %+v, %v; want 8 write shards", entry, err)
	}
}

// TestKeyedSettingsCutOff checks that a retry sets again if the first call failed before it put its marker.
func TestKeyedSettingsCutOff(t *testing.T) {
	r := newRig(t)
	f := &faults{Client: r.client, before: func(operation string) error {
		if operation == "TransactWriteItems" {
			return errors.New("cut off")
		}
		return nil
	}}
	r.use(f)
	c := settingCalls[0]
	if got := r.send(http.MethodPut, c.path, c.body, "Idempotency-Key", "k"); got.status != 500 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	f.before = nil
	for range 2 {
		if got := r.send(http.MethodPut, c.path, c.body, "Idempotency-Key", "k"); got.status != 200 || !strings.Contains(string(got.body), `"size":10`) {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
}

// TestThrottleAfterSettingIs503 checks that a throttle after the settings were written is a 503, and not a 429.
func TestThrottleAfterSettingIs503(t *testing.T) {
	for _, after := range []string{"TransactWriteItems", "BatchGetItem"} {
		r := newRig(t)
		set := false
		f := &faults{Client: r.client}
		f.before = func(operation string) error {
			if operation == after && set {
				return errThrottled
			}
			set = set || operation == "UpdateItem"
			return nil
		}
		r.use(f)
		r.service.settings.Deadline = 2 * time.Second
		c := settingCalls[0]
		got := r.send(http.MethodPut, c.path, c.body, "Idempotency-Key", "k")
		if got.status != 503 || got.header.Get("Retry-After") == "" {
			t.Errorf("%s is throttled: %d %s, want a 503", after, got.status, got.body)
		}
		f.before = nil
		if set, err := r.service.boards.Settings(t.Context(), "g", r.service.now()); err != nil || set.Size != 10 {
			t.Errorf("the board has %+v, %v; want size 10", set, err)
		}
	}
}

// TestContentionIs429 checks that a call that always loses to concurrent calls is a 429 that logs no error.
func TestContentionIs429(t *testing.T) {
	r := newRig(t)
	f := &faults{Client: r.client, before: func(operation string) error {
		if operation != "TransactWriteItems" {
			return nil
		}
		return libtest.CanceledFor("ConditionalCheckFailed", "None")
	}}
	r.use(f)
	r.service.settings.Deadline = 600 * time.Millisecond
	got := r.post("/v1/scores", scoresBody("g", "ann", "1"), "Idempotency-Key", "k")
	if text := string(got.body); got.status != 429 || got.header.Get("Retry-After") == "" || !strings.Contains(text, "other calls kept changing the same items") ||
		strings.Contains(text, "unavailable") || strings.Contains(text, "may have been written") {
		t.Errorf("%d %s, want a 429", got.status, text)
	}
	if log := r.log.String(); strings.Contains(log, "ERROR") || !strings.Contains(log, "INFO") {
		t.Errorf("the log lacks an INFO line or has an ERROR: %s", log)
	}
}

// set sends a PUT. It retries while a busy machine can't change the shard map within a second.
func (r *rig) set(path, body string, header ...string) (got answer) {
	r.t.Helper()
	for range 20 {
		if got = r.send(http.MethodPut, path, body, header...); got.status != http.StatusServiceUnavailable {
			break
		}
	}
	return got
}

// TestPutShards checks that a shard count is pinned, again with the same answer, and unpinned.
func TestPutShards(t *testing.T) {
	r := newRig(t)
	put := func(body string) answer { return r.set("/v1/shards", body) }
	var shown httpapi.ShardCount
	got := put(`{"type":"board","name":"a#b","shards":8}`)
	got.decode(t, &shown)
	if got.status != 200 || shown.Shards != 8 || !shown.Pinned || shown.Max != 8 || len(shown.History) != 1 || shown.History[0].By != "api" {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	again := put(`{"type":"board","name":"a#b","shards":8}`)
	if again.status != 200 || string(again.body) != string(got.body) {
		t.Errorf("the same pin: %d %s", again.status, again.body)
	}
	put(`{"type":"board","name":"a#b","shards":null}`).decode(t, &shown)
	if shown.Pinned || shown.Shards != 8 {
		t.Errorf("unpinned: %+v", shown)
	}
	for body, location := range map[string]string{
		`{"type":"board","name":"x"}`:                "body",
		`{"type":"thing","name":"x","shards":1}`:     "body.type",
		`{"type":"board","name":"","shards":1}`:      "body.name",
		`{"type":"board","name":"x","shards":0}`:     "body.shards",
		`{"type":"board","name":"x","shards":1001}`:  "body.shards",
		`{"type":"board","name":"x","shards":"2"}`:   "body.shards",
		`{"type":"board","name":"x","shards":[2,3]}`: "body.shards",
	} {
		wantProblem(t, body, put(body), 422, location)
	}
}
