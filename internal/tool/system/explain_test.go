package system

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	reasons "github.com/hotshard/hotshard/internal/base/throttles"
)

// explained returns the response of GET /v1/explain.
func explained(t *testing.T, s *System) (r reasons.Report) {
	t.Helper()
	if err := json.Unmarshal([]byte(body(t, s.URL()+"/v1/explain?since=5m", "json")), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExplainsTwoThrottles checks that the API names both reasons of simultaneous throttles, with keys and cures. The
// response is cached.
func TestExplainsTwoThrottles(t *testing.T) {
	s, stop := startWith(t, func(o *Options) {
		o.Limits = Limits{Partitions: 16, PartitionWCU: 5, TableWCU: 12}
		o.Control = "observe"
	})
	defer stop()
	if r := explained(t, s); !r.Counted || r.Throttles != 0 || len(r.Notes) != 0 || r.Table != s.options.Prefix+"*" {
		t.Errorf("before the writes: %+v, want no throttles and no notes", r)
	}
	spread := ""
	for i := range 60 {
		spread += fmt.Sprintf(`{"counter":"c%d","delta":1},`, i)
	}
	for path, call := range map[string]string{
		"/v1/events":   `{"events":[` + strings.TrimSuffix(strings.Repeat(`{"entity":"sensor"},`, 40), ",") + `]}`,
		"/v1/counters": `{"increments":[` + strings.TrimSuffix(spread, ",") + `]}`,
	} {
		if status, answer := send(t, "POST", s.URL()+path, call); status != 200 && status != 429 {
			t.Fatalf("%s: %d %s", path, status, answer)
		}
	}
	r := explained(t, s)
	if r.Throttles != 0 {
		t.Errorf("the same call within a minute is not cached: %+v", r)
	}
	text := body(t, s.URL()+"/v1/explain?since=6m", "json")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	found := map[string]reasons.Finding{}
	for _, f := range r.Findings {
		found[f.Reason+" of "+strings.TrimPrefix(f.Resource[strings.LastIndex(f.Resource, "/")+1:], s.options.Prefix)] = f
	}
	hot := found["TableWriteKeyRangeThroughputExceeded of events"]
	if len(hot.Keys) == 0 || !strings.HasPrefix(hot.Keys[0].Key, "E#sensor#") || !strings.Contains(hot.Cure, "write shards") && !strings.Contains(hot.Cure, "Pace the sender of entity sensor") {
		t.Errorf("the entity's partition: %+v in %s", hot, text)
	}
	if limit := found["TableWriteMaxOnDemandThroughputExceeded of items"]; !strings.HasPrefix(limit.Cure, "Raise the on-demand maximum of the table, or remove it with -1: aws dynamodb update-table") {
		t.Errorf("the items table's limit: %+v in %s", limit, text)
	}
}

// TestExplainsNothing checks that the API reports no throttles if there is no limiter.
func TestExplainsNothing(t *testing.T) {
	s, stop := start(t)
	defer stop()
	if r := explained(t, s); !r.Counted || r.Throttles != 0 || r.Unknown != 0 || len(r.Notes) != 0 {
		t.Errorf("report %+v, want 0 counted throttles and no notes", r)
	}
}
