package query

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// lambdaLimit is the maximum size of a synchronous response of Lambda, in bytes.
const lambdaLimit = 6_291_556

// send returns a response's body, which must fit in Lambda's response as a JSON string.
func (r *rig) send(path string) []byte {
	r.t.Helper()
	recorder := httptest.NewRecorder()
	r.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, path, nil))
	sent, err := json.Marshal(recorder.Body.String())
	if err != nil || recorder.Code != http.StatusOK || len(sent) > lambdaLimit {
		r.t.Fatalf("%s: %d with %d bytes, %v; want a 200 with at most %d bytes", path, recorder.Code, len(sent), err, lambdaLimit)
	}
	return recorder.Body.Bytes()
}

// TestLargeEventsFillPagesByBytes checks that pages of large events fit in Lambda's response. Half of the events
// are quotation marks, which are escaped twice.
func TestLargeEventsFillPagesByBytes(t *testing.T) {
	r := newRig(t)
	const many = 8
	var want []string
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for i := range many {
		data, err := httpapi.ParseDocument([]byte(`{"a":"` + strings.Repeat([]string{"x", `\"`}[i%2], 390_000) + `"}`))
		require.NoError(t, err)
		want = append(want, fmt.Sprintf("%02d", i))
		r.putEvents(events.Event{Entity: "e", ID: want[i], Time: start, Data: data})
	}
	for _, order := range []string{"asc", "desc"} {
		var ids []string
		cursor := ""
		for pages := 1; ; pages++ {
			var page eventsJSON
			require.NoError(t, json.Unmarshal(r.send("/v1/events?entity=e&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z&limit=1000&order="+order+cursor), &page))
			for _, ev := range page.Events {
				ids = append(ids, ev.ID)
			}
			if page.Cursor == "" {
				break
			}
			if pages > many {
				t.Fatalf("%s: the pages don't end", order)
			}
			cursor = "&cursor=" + page.Cursor
		}
		if order == "desc" {
			slices.Reverse(ids)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%s: got events %v, want %v", order, ids, want)
		}
	}
}

// TestManyRollupsAreRejected checks that a range whose response would be too large for Lambda is rejected.
func TestManyRollupsAreRejected(t *testing.T) {
	r := newRig(t)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	values := map[string]string{}
	for i := range parts.MaxMeasures {
		values[fmt.Sprint(i, strings.Repeat(`"`, parts.MaxFieldName-2))] = "12345.6789"
	}
	for hour := range 300 {
		part := parts.Rollup{}.Clone()
		part.Add(values)
		item := part.Attributes()
		pk, sk := schema.RollupKey("e", shard.Hour, start.Add(time.Duration(hour)*time.Hour), "s")
		maps.Copy(item, dynamo.Key(pk, sk))
		r.putItem(r.names.Rollups, item)
	}
	r.send("/v1/rollups?entity=e&from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z")
	r.wantInvalid("/v1/rollups?entity=e&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z", "query.from")
}

// TestManyShardCountsArePaged checks that a list of shard counts continues on a second page if it is too large for Lambda.
func TestManyShardCountsArePaged(t *testing.T) {
	entries := make([]shardmap.Entry, 2600)
	for i := range entries {
		entries[i] = shardmap.Entry{Key: fmt.Sprintf("C#%04d%s", i, strings.Repeat(`"`, 500))}
	}
	first, err := listOf(entries)
	if err != nil || first.Cursor == "" {
		t.Fatalf("%d keys, cursor %q, %v", len(first.Keys), first.Cursor, err)
	}
	if after, err := decodeCursor(listOfShards, first.Cursor, isBaseKey); err != nil || after != entries[len(first.Keys)-1].Key {
		t.Errorf("the second page begins after %.10q, %v", after, err)
	}
	rest, err := listOf(entries[len(first.Keys):])
	if err != nil || rest.Cursor != "" || len(first.Keys)+len(rest.Keys) != len(entries) {
		t.Errorf("%d and %d keys of %d, cursor %q, %v", len(first.Keys), len(rest.Keys), len(entries), rest.Cursor, err)
	}
	for _, list := range []shardsList{first, rest} {
		if weight, err := httpapi.WeightOf(list); err != nil || weight > lambdaLimit {
			t.Errorf("%d keys weigh %d, %v", len(list.Keys), weight, err)
		}
	}
}

// TestForeignItemsAreNamed checks that an unreadable item among an entity's events is an error with the item's key.
func TestForeignItemsAreNamed(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	const stamp = "2026-01-05T12:30:00.000Z"
	for entity, sk := range map[string]string{"set": stamp + "#x", "time": "2026-01-05T12:30:00.0xxZ#x", "binary": stamp + "#\x01"} {
		r := newRig(t)
		r.putEvents(events.Event{Entity: entity, ID: "good", Time: at})
		item := dynamo.Item{
			"pk": dynamo.String("E#" + entity + "#2026-01-05#0"), "sk": dynamo.String(sk),
			"data": &types.AttributeValueMemberM{Value: dynamo.Item{"x": &types.AttributeValueMemberSS{Value: []string{"a"}}}},
		}
		if entity == "binary" {
			item["data"] = &types.AttributeValueMemberM{Value: dynamo.Item{"x": &types.AttributeValueMemberB{Value: []byte("a")}}}
		}
		r.putItem(r.names.Events, item)
		var p problem
		got := r.get("/v1/events?entity="+entity+"&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z", &p)
		if got != 500 || !strings.Contains(p.Detail, strings.Trim(sk, "\x01")) {
			t.Errorf("%s: %d %s, want a 500 with %q", entity, got, p.Detail, sk)
		}
	}
}
