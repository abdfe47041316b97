package query

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/document"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/measures"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// lambdaLimit is that of a synchronous answer of Lambda's, in bytes.
const lambdaLimit = 6_291_556

// send returns a read's body, which as a string in Lambda's answer must be below the
// limit.
func (r *rig) send(path string) []byte {
	r.t.Helper()
	recorder := httptest.NewRecorder()
	r.handler.ServeHTTP(recorder, httptest.NewRequestWithContext(r.t.Context(), http.MethodGet, path, nil))
	sent, err := json.Marshal(recorder.Body.String())
	if err != nil || recorder.Code != http.StatusOK || len(sent) > lambdaLimit {
		r.t.Fatalf("%s: %d, %d bytes of an answer, %v", path, recorder.Code, len(sent), err)
	}
	return recorder.Body.Bytes()
}

// TestLargeEventsFillPagesByBytes: text that doubles when it is quoted, and doubles
// again in Lambda's answer, beside such that does not.
func TestLargeEventsFillPagesByBytes(t *testing.T) {
	r := newRig(t)
	const many = 16
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for i := range many {
		text, err := json.Marshal(map[string]string{"a": strings.Repeat([]string{"x", `"`}[i%2], 390_000)})
		if err != nil {
			t.Fatal(err)
		}
		data, err := document.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		r.put(events.Event{Entity: "e", ID: fmt.Sprintf("%02d", i), Time: start, Data: data})
	}
	for _, order := range []string{"asc", "desc"} {
		var ids []string
		cursor := ""
		for pages := 1; ; pages++ {
			var page eventsJSON
			if err := json.Unmarshal(r.send("/v1/events?entity=e&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z&limit=1000&order="+order+cursor), &page); err != nil {
				t.Fatal(err)
			}
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
		for i, id := range ids {
			at := i
			if order == "desc" {
				at = many - 1 - i
			}
			if id != fmt.Sprintf("%02d", at) {
				t.Fatalf("%s: %v", order, ids)
			}
		}
		if len(ids) != many {
			t.Errorf("%s: %d events of %d", order, len(ids), many)
		}
	}
}

func TestManyRollupsAreRefused(t *testing.T) {
	r := newRig(t)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	values := map[string]string{}
	for i := range measures.MaxMeasures {
		values[fmt.Sprint(i, strings.Repeat(`"`, measures.MaxFieldName-2))] = "12345.6789"
	}
	for hour := range 300 {
		part := measures.Part{}.Clone()
		part.Add(values)
		item := part.Attributes()
		pk, sk := schema.RollupKey("e", shard.Hour, start.Add(time.Duration(hour)*time.Hour), "s")
		for name, value := range dynamo.Key(pk, sk) {
			item[name] = value
		}
		if _, err := r.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	r.send("/v1/rollups?entity=e&from=2026-01-01T00:00:00Z&to=2026-01-03T00:00:00Z")
	var problem struct{ Errors []struct{ Location string } }
	if status := r.get("/v1/rollups?entity=e&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z", &problem); status != 422 || problem.Errors[0].Location != "query.from" {
		t.Errorf("%d %+v", status, problem)
	}
}

func TestManyShardCountsArePaged(t *testing.T) {
	entries := make([]shardmap.Entry, 2600)
	for i := range entries {
		entries[i] = shardmap.Entry{Key: fmt.Sprintf("C#%04d%s", i, strings.Repeat(`"`, 500))}
	}
	first, err := listOf(entries)
	if err != nil || first.Cursor == "" {
		t.Fatalf("%d keys, cursor %q, %v", len(first.Keys), first.Cursor, err)
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
