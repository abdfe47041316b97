package system

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

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
