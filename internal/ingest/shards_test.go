package ingest

import (
	"net/http"
	"testing"

	"github.com/hotshard/hotshard/internal/httpapi"
)

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
