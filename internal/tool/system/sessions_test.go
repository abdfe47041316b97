package system

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
)

// send makes a call, and returns its status and body.
func send(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
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

// TestSessionsAndLimits makes calls of sessions and limits through the whole system.
func TestSessionsAndLimits(t *testing.T) {
	s, stop := start(t, time.Second)
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
	for _, path := range []string{"/v1/sessions", "/v1/limits"} {
		expect("GET", "/openapi.json", "", 200, path)
	}
}

// TestHotGroupsAndLimitsGrow checks growth of groups and limits on partitions of 10 WCU/s.
func TestHotGroupsAndLimitsGrow(t *testing.T) {
	prefix := enginetest.Prefix("grow")
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Start(ctx, Options{
		Addr: "127.0.0.1:0", Endpoint: enginetest.Endpoint(t), Prefix: prefix, Window: time.Second, Idle: time.Second, Control: "act",
		Failures: filepath.Join(t.TempDir(), "failures.jsonl"), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Limits: Limits{Partitions: 64, PartitionWCU: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("running: %v", err)
		}
	}()
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
	if status, text := send(t, "GET", s.URL()+"/v1/shards", ""); status != 200 || !bytes.Contains([]byte(text), []byte(`"type":"limit"`)) {
		t.Errorf("the shard map: %d %s", status, text)
	}
}
