package prove

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/awscall"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// tiny returns a plan that takes little more than a second.
func tiny() Plan {
	p := LocalPlan()
	p.Onset, p.Rung, p.Rest, p.Burst = []float64{0.5, 10}, 200*time.Millisecond, time.Millisecond, 100*time.Millisecond
	p.Warm, p.Storm, p.Keyed, p.KeyedFor, p.Callers, p.Settle = 100*time.Millisecond, 300*time.Millisecond, []float64{20}, 200*time.Millisecond, 3, time.Millisecond
	return p
}

// recorder collects actions.
type recorder struct {
	mu      sync.Mutex
	actions map[awscall.Action]bool
}

func (r *recorder) called(action awscall.Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.actions == nil {
		r.actions = map[awscall.Action]bool{}
	}
	r.actions[action] = true
}

func (r *recorder) all() []awscall.Action { return slices.Sorted(maps.Keys(r.actions)) }

// right reports whether a strong read found all accepted calls, and no more than could have been applied.
func (s *Storm) right() bool {
	return s.Found >= s.Accepted && s.Found <= s.Accepted+s.Before.Other+s.Offered.Other
}

// left returns an engine's tables with a prefix.
func left(t *testing.T, endpoint, prefix string) (names []string) {
	t.Helper()
	pages := dynamodb.NewListTablesPaginator(dynamolocal.DynamoDB(endpoint, ""), &dynamodb.ListTablesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range page.TableNames {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
	}
	return names
}

// TestLocalRun makes a complete run on the engine. Each experiment must have results, and nothing may be left.
func TestLocalRun(t *testing.T) {
	t.Parallel()
	endpoint, folder := enginetest.Endpoint(t), t.TempDir()
	var actions recorder
	record := func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, awscall.ObserveAttempts(actions.called))
	}
	var notices bytes.Buffer
	report, err := Run(t.Context(), Options{
		Site: Local{Endpoint: endpoint, PartitionWCU: 20, Client: []func(*dynamodb.Options){record}}, Plan: tiny(), Ceiling: 1, Folder: folder, Notices: &notices,
	})
	if err != nil {
		t.Fatal(err)
	}
	rungs := report.Onset.Rungs
	if len(rungs) != 2 || rungs[0].Throttled > 0 || rungs[1].Throttled == 0 || rungs[1].First < 0 || rungs[1].Reasons["TableWriteKeyRangeThroughputExceeded"] == 0 || rungs[0].Units == 0 {
		t.Errorf("onset: %+v", report.Onset)
	}
	if c := report.Cold; c.First < float64(localColdStart.Milliseconds()) || c.Warm <= 0 || c.Warm > c.First || c.Burst.Offered != 3 || c.Opened == 0 {
		t.Errorf("cold starts: %+v", c)
	}
	if len(report.Storms) != 2 || !report.Storms[0].right() || report.Storms[0].Accepted == 0 || report.Storms[1].Accepted == 0 {
		t.Errorf("storms: %+v, %+v", report.Storms[0], report.Storms[1])
	}
	if k := report.Keyed; len(k) != 1 || k[0].Found < k[0].Offered.Accepted || k[0].Offered.Accepted == 0 {
		t.Errorf("keyed calls: %+v", k)
	}
	if report.Billed.WriteUnits == 0 || report.Billed.Requests == 0 || report.Reckoned.Requests == 0 || report.ReckonedCost > report.Ceiling || report.Fault != "" {
		t.Errorf("costs: %+v and %+v, fault %q", report.Reckoned, report.Billed, report.Fault)
	}
	for _, want := range []string{"TableWriteKeyRangeThroughputExceeded", "Nothing of it is left", "| counters, 60 a second |", "| USD |"} {
		if !strings.Contains(report.Markdown(), want) {
			t.Errorf("the page lacks %q:\n%s", want, report.Markdown())
		}
	}
	if tables := left(t, endpoint, "hotshard-prove-"+report.Run); tables != nil {
		t.Errorf("tables %v are left", tables)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) > 0 {
		t.Errorf("files %v are left, %v", files, err)
	}
	want := []awscall.Action{"dynamodb:CreateTable", "dynamodb:DeleteTable", "dynamodb:DescribeTable", "dynamodb:ListTables", "dynamodb:UpdateItem"}
	if got := actions.all(); !slices.Equal(got, want) {
		t.Errorf("the run called %v, want %v", got, want)
	}
}

// TestCeiling checks that a run is not begun if it may cost more than the ceiling. A run that reaches the ceiling is
// ended and removed.
func TestCeiling(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	site := Local{Endpoint: "http://127.0.0.1:1", PartitionWCU: 20}
	report, err := Run(t.Context(), Options{Site: site, Plan: tiny(), Ceiling: 0.2, Folder: folder})
	if err == nil || report != nil || !strings.Contains(err.Error(), "the ceiling is $0.20") {
		t.Errorf("a ceiling below the bound: %v", err)
	}
	site.Endpoint = enginetest.Endpoint(t)
	report, err = Run(t.Context(), Options{Site: site, Plan: tiny(), Ceiling: tiny().Bound(), Folder: folder})
	if _, ok := errors.AsType[*ceilingError](err); !ok || report.Fault == "" || report.ReckonedCost > report.Ceiling {
		t.Errorf("a ceiling at the bound: error %v, report %+v; want it reached", err, report)
	}
	if report != nil && left(t, site.Endpoint, "hotshard-prove-"+report.Run) != nil {
		t.Error("tables are left")
	}
	checkNotes(t, folder, 0)
}

// failing is a proxy that fails the n-th call about tables with an error that the SDK does not retry. If end is set, it
// forwards the call and ends the run instead.
type failing struct {
	at  int
	end func() // nil to fail

	mu    sync.Mutex
	calls int
}

func (f *failing) handle(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	f.mu.Lock()
	if strings.Contains(operation, "Table") || strings.Contains(operation, "TimeToLive") {
		f.calls++
	}
	hit := f.calls == f.at
	if hit {
		f.at = -1
	}
	f.mu.Unlock()
	if hit && f.end == nil {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#AccessDeniedException","message":"no"}`)
		return
	}
	if hit {
		f.end()
		r = r.WithContext(context.WithoutCancel(r.Context())) // forwards the call although its client disconnects
	}
	forward.ServeHTTP(w, r)
}

// TestNothingIsLeft fails a random call about tables, or ends the run at it. Tables may be left only if the run's note is,
// and Clean must then remove them.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	endpoint := enginetest.Endpoint(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 0))
	for range lane.Runs(1, 20) {
		for _, interrupt := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			f := &failing{at: 1 + draw.IntN(45)}
			if interrupt {
				f.end = cancel
			}
			at := f.at
			prefix := runAndClean(ctx, t, endpoint, f)
			cancel()
			if tables := left(t, endpoint, prefix); tables != nil {
				t.Errorf("call %d, interrupted %t: tables %v are left", at, interrupt, tables)
			}
		}
	}
}

// runAndClean makes a run, and cleans up afterwards if a note is left. It returns the run's prefix.
func runAndClean(ctx context.Context, t *testing.T, endpoint string, f *failing) string {
	t.Helper()
	folder := t.TempDir()
	report, err := Run(ctx, Options{Site: impatient{Local{Endpoint: enginetest.Proxy(t, endpoint, f.handle), PartitionWCU: 20}}, Plan: tiny(), Ceiling: 1, Folder: folder})
	paths, listErr := notes(folder)
	if listErr != nil {
		t.Fatal(listErr)
	}
	if report == nil {
		if paths != nil {
			t.Errorf("the run was not begun, but has the notes %v: %v", paths, err)
		}
		return "hotshard-prove-nothing"
	}
	prefix := "hotshard-prove-" + report.Run
	if tables := left(t, endpoint, prefix); tables != nil && paths == nil {
		t.Errorf("tables %v are left without a note", tables)
	}
	if err := Clean(t.Context(), folder, func(Record) (Site, error) { return Local{}, nil }, io.Discard); err != nil {
		t.Error(err)
	}
	return prefix
}

// impatient is a local site whose removals are hardly retried.
type impatient struct{ Local }

func (i impatient) cleaner(ctx context.Context, r Record) (*cleaner, error) {
	c, err := i.Local.cleaner(ctx, r)
	c.pause, c.tries = 10*time.Millisecond, 2
	return c, err
}
