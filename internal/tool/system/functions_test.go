package system

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// TestNothingRunsBetweenRequests checks that an HTTP function has no goroutine after its response, since Lambda would
// freeze it. It makes each kind of call in several containers, cold and warm.
func TestNothingRunsBetweenRequests(t *testing.T) {
	endpoint := enginetest.Endpoint(t)
	f := &functions{options: good(), names: enginetest.Tables(t, dynamolocal.DynamoDB(endpoint, "")), limited: &limited{target: endpoint}}
	f.options.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	before := goleak.IgnoreCurrent()
	var group sync.WaitGroup
	for n := range 3 {
		group.Go(func() { everyKind(t, f, n) })
	}
	group.Wait()
	noLeak(t, before)
}

// everyKind makes a call of each kind twice in new containers.
func everyKind(t *testing.T, f *functions, n int) {
	ingest, err := f.ingest(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	query, err := f.query(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	calls := []struct{ method, path, body string }{
		{"PUT", "/v1/leaderboards", `{"board":"b","mode":"sum","size":10,"periods":["all"]}`},
		{"POST", "/v1/counters", fmt.Sprintf(`{"increments":[{"counter":"c%d","delta":1},{"counter":"d","delta":1}]}`, n)},
		{"POST", "/v1/events", fmt.Sprintf(`{"events":[{"entity":"e%d"},{"entity":"f"}]}`, n)},
		{"POST", "/v1/scores", fmt.Sprintf(`{"board":"b","scores":[{"player":"p%d","score":1}]}`, n)},
		{"POST", "/v1/limits", fmt.Sprintf(`{"key":"l%d","limit":5,"window":"1h"}`, n)},
		{"PUT", "/v1/sessions", fmt.Sprintf(`{"group":"g","id":"s%d","ttl":"30m"}`, n)},
		{"GET", "/v1/counters?consistency=strong&name=d", ""},
		{"GET", "/v1/events?entity=f", ""},
		{"GET", "/v1/sessions?group=g", ""},
		{"GET", fmt.Sprintf("/v1/sessions?group=g&id=s%d", n), ""},
		{"GET", "/v1/sessions/list?group=g", ""},
		{"GET", "/v1/shards", ""},
		{"GET", "/v1/hot-keys", ""},
	}
	for _, c := range append(calls, calls...) {
		api := ingest
		if c.method == http.MethodGet {
			api = query
		}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		api.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}
