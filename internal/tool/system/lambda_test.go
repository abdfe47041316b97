package system

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/lambda"
	"github.com/hotshard/hotshard/internal/aws/lambda/process"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// increments makes n concurrent increments of a counter. It returns how many were accepted, and how many were rejected for
// want of a container.
func increments(t *testing.T, s *System, n int) (accepted, rejected int64) {
	t.Helper()
	var group sync.WaitGroup
	var ok, none atomic.Int64
	for range n {
		group.Go(func() {
			answer, err := http.Post(s.URL()+"/v1/counters", "application/json", strings.NewReader(`{"increments":[{"counter":"pages","delta":1}]}`))
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close()
			switch {
			case answer.StatusCode == http.StatusOK:
				ok.Add(1)
			case answer.StatusCode == http.StatusTooManyRequests && answer.Header.Get(lambda.ErrorHeader) == lambda.TooManyRequests:
				none.Add(1)
			default:
				t.Errorf("an increment got %s, want 200, or 429 of Lambda", answer.Status)
			}
		})
	}
	group.Wait()
	return ok.Load(), none.Load()
}

// TestContainers checks that a request without a free container is rejected and not counted. All else is as with one
// process, including summaries, whose function has a reserved quota.
func TestContainers(t *testing.T) {
	s, stop := startWith(t, func(o *Options) {
		o.Lambda = Lambda{Containers: 4, Concurrency: 4, ColdStart: 100 * time.Millisecond}
	})
	defer stop()
	accepted, rejected := increments(t, s, 40)
	if accepted < 1 || rejected < 1 {
		t.Errorf("%d requests were accepted and %d rejected, want some of each", accepted, rejected)
	}
	if got := s.Containers()[ingestName]; got.Containers > 4 || got.ColdStarts != int64(got.Containers) || got.Refused() != rejected || got.Requests != 40 {
		t.Errorf("containers %+v, want up to 4, 40 requests and %d rejected", got, rejected)
	}
	if got := s.Concurrency(); got.Peak < 1 || got.Peak > 4 {
		t.Errorf("concurrency %+v, want a peak of 1 to 4", got)
	}
	var answer struct{ Value int64 }
	eventually(t, func() bool {
		get(t, s.URL()+"/v1/counters?name=pages", &answer)
		return answer.Value == accepted
	})
	foreign, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	foreign.Host = "evil.example" // a page of that site may send it
	if answer, err := http.DefaultClient.Do(foreign); err != nil || answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("with another host's name: %v, %v; want 421", answer, err)
	} else {
		_ = answer.Body.Close()
	}
	for path, want := range map[string]int{"/openapi.json": 200, "/docs/": 200, "/healthz": 200, "/nothing": 404} {
		if status, text := send(t, http.MethodGet, s.URL()+path, ""); status != want {
			t.Errorf("%s: %d %.100s, want %d", path, status, text, want)
		}
	}
}

// TestNothingRunsBetweenRequests checks that a container has no goroutine after its response, since Lambda would freeze it.
// It makes each kind of call in several containers, cold and warm.
func TestNothingRunsBetweenRequests(t *testing.T) {
	endpoint := enginetest.Endpoint(t)
	f := &functions{options: good(), names: enginetest.Tables(t, dynamolocal.DynamoDB(endpoint, "")), limited: &limited{target: endpoint}}
	f.options.Lambda, f.options.Log = Lambda{Containers: 3}, slog.New(slog.NewTextHandler(t.Output(), nil))
	var pools fleet
	api, err := f.serves(t.Context(), &pools)
	if err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	for range 2 {
		var group sync.WaitGroup
		for n := range 3 {
			group.Go(func() { everyKind(t, api, n) })
		}
		group.Wait()
	}
	if got := pools.Containers(); got[ingestName].Containers < 2 || got[queryName].Containers < 1 {
		t.Errorf("containers %+v, want 2 or more for ingest and 1 for query", got)
	}
	noLeak(t, before)
}

// everyKind makes a call of each kind.
func everyKind(t *testing.T, api http.Handler, n int) {
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/v1/leaderboards", `{"board":"b","mode":"sum","size":10,"periods":["all"]}`},
		{"POST", "/v1/counters", fmt.Sprintf(`{"increments":[{"counter":"c%d","delta":1},{"counter":"d","delta":1}]}`, n)},
		{"POST", "/v1/events", fmt.Sprintf(`{"events":[{"entity":"e%d"},{"entity":"f"}]}`, n)},
		{"POST", "/v1/scores", fmt.Sprintf(`{"board":"b","scores":[{"player":"p%d","score":1}]}`, n)},
		{"POST", "/v1/limits", fmt.Sprintf(`{"key":"l%d","limit":5,"window":"1h"}`, n)},
		{"PUT", "/v1/sessions", fmt.Sprintf(`{"group":"g","id":"s%d","ttl":"30m"}`, n)},
		{"GET", "/v1/counters?consistency=strong&name=d", ""},
		{"GET", "/v1/events?entity=f", ""},
		{"GET", "/v1/sessions?group=g", ""},
		{"GET", "/v1/shards", ""},
		{"GET", "/v1/hot-keys", ""},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/json")
		api.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
	}
}

// TestBinaries checks that containers which are processes of the built function write to the same tables, through the
// limiter.
func TestBinaries(t *testing.T) {
	lane.NeedsEngine(t)
	binary, err := process.Build(t.Context(), "../../..", t.TempDir(), ingestName)
	if err != nil {
		t.Fatal(err)
	}
	s, stop := startWith(t, func(o *Options) {
		o.Limits = Limits{Partitions: 4, PartitionWCU: 1000}
		o.Lambda = Lambda{Containers: 2, Starters: map[string]Starter{ingestName: process.Starter(binary)}}
	})
	defer stop()
	accepted, _ := increments(t, s, 10)
	var answer struct{ Value int64 }
	get(t, s.URL()+"/v1/counters?consistency=strong&name=pages", &answer)
	if accepted < 1 || answer.Value != accepted || s.Charged().WriteUnits < float64(accepted) {
		t.Errorf("the counter is %d after %d accepted increments, which cost %.0f write units", answer.Value, accepted, s.Charged().WriteUnits)
	}
}

// hourly returns an hourly task of a function, and counts its runs.
func hourly(function string) (schedule, *atomic.Int64) {
	runs := new(atomic.Int64)
	return schedule{function: function, every: time.Hour, handler: handlerFunc(func(context.Context, []byte) ([]byte, error) {
		runs.Add(1)
		return nil, nil
	})}, runs
}

// TestStormLeavesStreamItsConcurrency lets the API's calls use up the shared quota. The stream's functions and their
// tasks must still run at once.
func TestStormLeavesStreamItsConcurrency(t *testing.T) {
	var f fleet
	f.reserve(20)
	for range 16 { // all but the two reserved tenths
		if _, err := f.quota.Admit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := f.quota.Admit(ended); err == nil {
		t.Error("the API took reserved quota")
	}
	sc, runs := hourly(aggregatorName)
	sc.runOnce(t.Context(), &f, slog.Default())
	release, err := f.admit(detectorName)(t.Context())
	if err != nil || runs.Load() != 1 || f.Reserved()[detectorName].Used != 1 {
		t.Errorf("%d runs, %v, reserved %+v; want 1 run and 1 used", runs.Load(), err, f.Reserved())
	}
	release()
	for name, stats := range f.Reserved() {
		if stats.Delayed != 0 || stats.Used != 0 {
			t.Errorf("%s: %+v, want none delayed and none in use", name, stats)
		}
	}
}

// TestScheduleWaitsForConcurrency checks that a task without a reserved quota waits for the shared one.
func TestScheduleWaitsForConcurrency(t *testing.T) {
	f := &fleet{quota: lambda.NewQuota(1)}
	release, err := f.quota.Admit(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sc, runs := hourly("")
	done := make(chan struct{})
	go func() { defer close(done); sc.runOnce(t.Context(), f, slog.Default()) }()
	eventually(t, func() bool { return f.Concurrency().Delayed > 0 })
	if runs.Load() > 0 {
		t.Error("the task ran without quota")
	}
	release()
	<-done
	if runs.Load() != 1 || f.Concurrency().Used != 0 {
		t.Errorf("%d runs, concurrency %+v; want 1 run and none in use", runs.Load(), f.Concurrency())
	}
}
