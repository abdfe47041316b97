package lambda

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/aws/runtimeapi"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestProcesses checks that a fleet of processes of ingest loses no accepted increment, and that Linux stops them all
// between requests.
func TestProcesses(t *testing.T) {
	binary, err := Build(t.Context(), "../..", t.TempDir(), "ingest")
	require.NoError(t, err)
	db := enginetest.Client(t)
	names := enginetest.Tables(t, db)
	keys, err := db.Options().Credentials.Retrieve(t.Context())
	require.NoError(t, err)
	const containers, increments = 12, 120
	var mu sync.Mutex
	var pids []int
	f := NewFleet(Model{Concurrency: containers})
	start := func(ctx context.Context) (container, error) {
		c, err := startProcess(ctx, runtimeapi.Options{
			Binary: binary, Env: runtimeapi.Env(enginetest.Endpoint(t), keys.AccessKeyID, "http://127.0.0.1:1", names),
		})
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			pids = append(pids, c.(*process).function.Pid())
		}
		return c, err
	}
	for range 2 { // cold, then warm
		atOnce(t, func(w http.ResponseWriter, r *http.Request) { f.serve("ingest", start, w, r) }, increments)
		for _, pid := range pids {
			if got := state(t, pid); got != "T" {
				t.Errorf("process %d has the state %s between requests, want T (stopped)", pid, got)
			}
		}
	}
	got, err := counters.NewReader(db, names.Items, shardmap.New(db, names.ShardMap, shardmap.Options{})).Sum(t.Context(), "pages")
	if err != nil || got.Value.Int64() != 2*increments {
		t.Errorf("the counter is %v, %v; want %d", got.Value, err, 2*increments)
	}
	if s := f.Stats()["ingest"]; s.ColdStarts != containers || s.Rejected == 0 {
		t.Errorf("stats %+v, want %d cold starts, and some rejected requests", s, containers)
	}
	if err := f.Stop(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("process %d still exists", pid)
		}
	}
}

// atOnce makes concurrent increments and retries each until it is accepted. On a busy machine DynamoDB may
// time out, so each increment has an idempotency key.
func atOnce(t *testing.T, serve http.HandlerFunc, increments int) {
	t.Helper()
	var wg sync.WaitGroup
	for range increments {
		key := rand.Text()
		wg.Go(func() {
			for failed := 0; ; {
				w := httptest.NewRecorder()
				r := httptest.NewRequest(http.MethodPost, "/v1/counters", strings.NewReader(`{"increments":[{"counter":"pages","delta":1}]}`))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Idempotency-Key", key)
				serve(w, r)
				if w.Code == http.StatusOK {
					return
				}
				if w.Header().Get(ErrorHeader) != TooManyRequests {
					if failed++; failed == 20 || w.Header().Get("Retry-After") == "" {
						t.Errorf("%d %s", w.Code, w.Body)
						return
					}
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	wg.Wait()
}

// state returns a process's state from /proc: S for sleeping, T for stopped. It waits up to a second for T.
func state(t *testing.T, pid int) (state string) {
	t.Helper()
	for range 100 {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		require.NoError(t, err)
		fields := bytes.Fields(content[bytes.LastIndexByte(content, ')')+1:])
		if state = string(fields[0]); state == "T" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return state
}
