package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestConsoleIsForThisMachine checks that console listens on loopback addresses only.
func TestConsoleIsForThisMachine(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:8081", ":8081", "192.168.1.7:8081", "[::]:8081", "example.com:80", "nonsense"} {
		if code, _, err := hotshard(t, "console", "--table", "x", "--addr", addr); code != exitUsage || !strings.Contains(err, "--addr") {
			t.Errorf("%s: exit %d with %q, want wrong usage of --addr", addr, code, err)
		}
	}
}

// syncBuffer is a buffer for concurrent writes and reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestConsoleOfTable checks the console's calls for a table that is not hotshard's.
func TestConsoleOfTable(t *testing.T) {
	t.Parallel()
	endpoint := enginetest.Endpoint(t)
	table := enginetest.Prefix("shown")
	db := dynamolocal.DynamoDB(endpoint, "")
	createTable(t, db, table, types.StreamViewTypeNewAndOldImages, "id")
	ctx, stop := context.WithCancel(t.Context())
	var out, errOut syncBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"console", "--table", table, "--endpoint", endpoint, "--addr", "127.0.0.1:0"}, streams{out: &out, err: &errOut})
	}()
	get := func(path string, into any) {
		t.Helper()
		_, url, ok := strings.Cut(strings.TrimSpace(out.String()), "the console is at ")
		if !ok {
			return
		}
		response, err := http.Get(strings.TrimSuffix(url, "/") + path)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err == nil && into != nil {
			err = json.Unmarshal(body, into)
		}
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v: %s", path, response.Status, err, body)
		}
	}
	var hot struct {
		Keys []struct {
			Key, Table string
			Shards     int
		}
	}
	var heat struct {
		Table string
		Total []uint64
	}
	for deadline := time.Now().Add(time.Minute); len(hot.Keys) == 0 && time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		enginetest.Put(t, db, table, item{"id": str("<img onerror>"), "at": str(time.Now().String())})
		get("/v1/hot-keys", &hot)
	}
	if len(hot.Keys) != 1 || hot.Keys[0].Key != "<img onerror>" || hot.Keys[0].Table != table {
		t.Errorf("hot keys %+v, want one of the table; stderr %s", hot, errOut.String())
	}
	get("/v1/heat", &heat)
	var sum uint64
	for _, n := range heat.Total {
		sum += n
	}
	if heat.Table != table || sum == 0 {
		t.Errorf("heat %+v, want units of the table", heat)
	}
	var about struct{ Mode, Table, Where string }
	get("/console/about", &about)
	if about.Mode != "table" || about.Table != table || about.Where != "this machine" {
		t.Errorf("about %+v, want the table", about)
	}
	get("/", nil)
	stop()
	if c := <-code; c != exitOK {
		t.Errorf("exit %d, want 0: %s", c, errOut.String())
	}
}
