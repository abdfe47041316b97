package prove

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCost(t *testing.T) {
	got := DefaultPrices().cost(Units{WriteUnits: 2e6, ReadUnits: 4e6, Requests: 1e6, Invocations: 1e6, GBSeconds: 1000})
	if want := 2*0.625 + 4*0.125 + 1 + 0.2 + 0.0133334; math.Abs(got-want) > 1e-9 {
		t.Errorf("$%v, want $%v", got, want)
	}
}

// TestMeter checks that concurrent actions never exceed the ceiling, and that reaching it ends the run. Units that an
// action did not use are available again.
func TestMeter(t *testing.T) {
	prices := Prices{WriteUnits: 1e6, Standing: 1} // a dollar a write unit
	m := newMeter(10, prices)
	ctx, stop := context.WithCancelCause(t.Context())
	m.stop = stop
	var under sync.WaitGroup
	for range 100 {
		under.Go(func() {
			done, err := m.begin(Units{WriteUnits: 3})
			if err == nil {
				done(Units{WriteUnits: 1})
			}
		})
	}
	under.Wait()
	used := m.total().WriteUnits
	if used < 3 || prices.Standing+used > 10 {
		t.Errorf("%v write units were used, want 3 to 9", used)
	}
	if cause, ok := errors.AsType[*ceilingError](context.Cause(ctx)); !ok || cause.Ceiling != 10 {
		t.Errorf("the run ended with %v, want the ceiling of 10", context.Cause(ctx))
	}
	fresh := newMeter(4, prices)
	done, err := fresh.begin(Units{WriteUnits: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.begin(Units{WriteUnits: 1}); err == nil {
		t.Error("the units of an action in flight do not count")
	}
	done(Units{})
	if _, err := fresh.begin(Units{WriteUnits: 3}); err != nil {
		t.Errorf("unused units still count: %v", err)
	}
}

// TestBounds checks the bounds of the plans' costs and times.
func TestBounds(t *testing.T) {
	for name, c := range map[string]struct {
		plan        Plan
		least, most float64
	}{"AWS": {AWSPlan(), 1, 5}, "local": {LocalPlan(), 0.25, 0.5}, "quick": {AWSPlan().Quick(), 0.25, 0.6}} {
		if got := c.plan.Bound(); got < c.least || got > c.most {
			t.Errorf("%s: $%.2f, want $%.2f to $%.2f", name, got, c.least, c.most)
		}
	}
	if got := LocalPlan().Quick().Lasting(); got > 20*time.Second {
		t.Errorf("the quick local plan takes %v, want at most 20s", got)
	}
	more := AWSPlan()
	more.Storm *= 2
	if more.Bound() <= AWSPlan().Bound() || more.Lasting() != AWSPlan().Lasting()+2*time.Minute {
		t.Errorf("with storms of twice the length: $%.2f, %v; want more, and two minutes more", more.Bound(), more.Lasting())
	}
}

// TestOutcomes checks how calls are counted by their outcomes, and when the last throttled second was.
func TestOutcomes(t *testing.T) {
	o := newOutcomes(3 * time.Second)
	for _, a := range []struct {
		after  time.Duration
		status int
		early  bool
		err    error
	}{
		{0, 429, false, nil}, {0, 429, true, nil}, {500 * time.Millisecond, 500, false, nil}, {time.Second, 0, false, errors.New("lost")},
		{2 * time.Second, 200, false, nil}, {5 * time.Second, 200, false, nil},
	} {
		o.addAnswer(a.after, answer{a.status, a.early, 10 * time.Millisecond}, a.err)
	}
	want := Offered{Offered: 6, Accepted: 2, Throttled: 1, Early: 1, Other: 2, Calm: 2, P50: 10, P99: 10, Longest: 10,
		Others: map[string]int{"status 500": 1, "no readable answer": 1}}
	if diff := cmp.Diff(want, o.total()); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if share := want.failedShare(); math.Abs(share-66.67) > 0.01 {
		t.Errorf("failed share %v %%, want 66.67", share)
	}
	never := newOutcomes(time.Second)
	never.addAnswer(0, answer{status: 429}, nil)
	if got := never.total().Calm; got != -1 {
		t.Errorf("throttled to the end: calm after %v, want -1", got)
	}
}

// TestSteps checks that a change of a shard count has the time that the API returns, for counters and entities alike.
func TestSteps(t *testing.T) {
	begun := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"history":[{"time":"2026-01-05T12:00:02.5Z","shards":4,"by":"ingest","why":"throttled"}]}`)
	}))
	defer api.Close()
	c := newCaller(&running{api: api.URL}, newMeter(1, Prices{}))
	for _, typ := range []string{"counter", "entity"} {
		got, err := c.stepsOf(t.Context(), typ, "k", begun)
		if want := []Step{{2.5, 4, "ingest", "throttled"}}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: steps %v, %v; want %v", typ, got, err, want)
		}
	}
}
