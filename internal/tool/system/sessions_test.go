package system

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// send makes a call, and returns its status and body.
func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(text)
}

// TestSessionsAndLimits checks the calls of sessions and limits through the whole system.
func TestSessionsAndLimits(t *testing.T) {
	s, stop := start(t)
	defer stop()
	expect := func(method, path, body string, status int, part string) {
		t.Helper()
		got, text := send(t, method, s.URL()+path, body)
		for n := 1; n < 10 && method+path == "PUT/v1/shards" && got == 503; n++ { // a 503 may be retried
			got, text = send(t, method, s.URL()+path, body)
		}
		if got != status || !strings.Contains(text, part) {
			t.Errorf("%s %s: %d %s; want %d and %s", method, path, got, text, status, part)
		}
	}
	for i := range 3 {
		expect("PUT", "/v1/sessions", fmt.Sprintf(`{"group":"shop","id":"u-%d","ttl":"30m","data":{"n":%d}}`, i, i), 200, `"expires_at"`)
	}
	expect("PUT", "/v1/sessions", `{"group":"shop","id":"u-0","ttl":"1h"}`, 200, `"started_at"`)
	expect("GET", "/v1/sessions?group=shop", "", 200, `{"active":3}`)
	expect("DELETE", "/v1/sessions?group=shop&id=u-1", "", 204, "")
	expect("DELETE", "/v1/sessions?group=shop&id=u-1", "", 204, "")
	expect("PUT", "/v1/shards", `{"type":"sessions","name":"shop","shards":4}`, 200, `"shards":4`)
	expect("GET", "/v1/sessions?group=shop", "", 200, `{"active":2}`)
	hit := fmt.Sprintf(`{"key":"login/ann","limit":2,"window":%q}`, enginetest.LastingWindow())
	for i := range 3 {
		expect("POST", "/v1/limits", hit, 200, fmt.Sprintf(`"allowed":%v,"used":%d,"remaining":%d`, i < 2, min(i+1, 2), max(1-i, 0)))
	}
	expect("PUT", "/v1/shards", `{"type":"limit","name":"login/ann","shards":3}`, 200, `"shards":3`)
	expect("GET", "/v1/shards?type=limit&name=login/ann", "", 200, `"pinned":true`)
}

// TestHotGroupsAndLimitsGrow checks that session groups and limits get write shards on partitions of 10 WCU/s.
func TestHotGroupsAndLimitsGrow(t *testing.T) {
	s, stop := startWith(t, func(o *Options) { o.Limits = Limits{Partitions: 64, PartitionWCU: 10} })
	defer stop()
	grown := func(kind string) bool {
		_, text := send(t, "GET", s.URL()+"/v1/shards?name=hot&type="+kind, "")
		return !strings.Contains(text, `"max_shards":1,`)
	}
	calls := 0
	eventually(t, func() bool {
		var storm sync.WaitGroup
		for range 20 {
			calls++
			session := fmt.Sprintf(`{"group":"hot","id":"%d","ttl":"30m"}`, calls)
			storm.Go(func() { send(t, "PUT", s.URL()+"/v1/sessions", session) })
			storm.Go(func() { send(t, "POST", s.URL()+"/v1/limits", `{"key":"hot","limit":100000,"window":"1h"}`) })
		}
		storm.Wait()
		return grown("sessions") && grown("limit")
	})
	if status, text := send(t, "GET", s.URL()+"/v1/shards", ""); status != 200 || !strings.Contains(text, `"type":"limit"`) {
		t.Errorf("GET /v1/shards: %d %s, want the limit", status, text)
	}
}
