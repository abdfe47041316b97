package hotkeys_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/heat/windows"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// edge has the fields of a response of GET /v1/heat that the test reads.
type edge struct {
	From    time.Time
	AsOf    time.Time `json:"as_of"`
	Total   []uint64
	Covered []float64
}

// heatAPI serves the heat of a table by a clock.
func heatAPI(reader windows.Reader, now func() time.Time) http.Handler {
	source := query.NewHeat(reader, query.HeatOptions{Deadline: time.Minute, Now: now})
	return httpapi.New(discard, query.HeatRoutes(source))
}

// getHeat decodes the response of GET /v1/heat.
func getHeat(t *testing.T, handler http.Handler, parameters url.Values, response any) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/heat?"+parameters.Encode(), nil))
	if err := json.Unmarshal(recorder.Body.Bytes(), response); err != nil || recorder.Code != http.StatusOK {
		t.Fatalf("GET /v1/heat?%s: status %d, %v: %s", parameters.Encode(), recorder.Code, err, recorder.Body)
	}
}

// TestSteadyHeatHasNoEdge checks that each covered column has all of a steady 800 WCU/s, whatever the stream shards'
// lags and the layers task's schedule. Columns after the last write are covered and 0, and those without a detector not
// covered.
func TestSteadyHeatHasNoEdge(t *testing.T) {
	for seed := range uint64(lane.Runs(3, 8)) {
		random := rand.New(rand.NewPCG(seed, 12))
		f := newFixture(settings())
		handler := heatAPI(f.reader(), func() time.Time { return f.now })
		streamShards, every := 1+random.IntN(8), []int{10, 60}[random.IntN(2)]
		const load, idle, end = 240, 360, 600 // seconds after start: end of the writes, of the detector, of the test
		lags, due := make([]time.Duration, streamShards), make(map[int][]heat.Item)
		for n := range load / 10 {
			for s := range streamShards {
				lag := min(max(time.Second, lags[s]*time.Duration(50+random.IntN(200))/100), 40*time.Second)
				lags[s] = max(lag, lags[s]-10*time.Second) // items are put in order
				it := heat.Item{Start: start.Add(time.Duration(10*n) * time.Second), Window: 10 * time.Second, StreamShard: fmt.Sprint("s", s), Limit: 1000, HotRate: 700, Records: 1, Units: uint64(8000 / streamShards), Lag: lags[s]}
				at := int((it.End().Sub(start) + lags[s] + time.Second - 1) / time.Second)
				due[at] = append(due[at], it)
			}
		}
		full := uint64(8000 / streamShards * streamShards)
		var last edge
		for second := range end {
			f.now = start.Add(time.Duration(second) * time.Second)
			for _, it := range due[second] {
				f.putHeat(t, it.Stored(start.Add(time.Hour)))
			}
			if second%every == 0 && second < idle {
				f.layersTask(t)
			}
			if second%3 != 0 {
				continue
			}
			var e edge
			getHeat(t, handler, nil, &e)
			if e.AsOf.After(f.now) || e.AsOf.Before(last.AsOf) {
				t.Fatalf("seed %d, second %d: as_of %v follows %v", seed, second, e.AsOf, last.AsOf)
			}
			for i, covered := range e.Covered {
				at := e.From.Add(time.Duration(i) * 10 * time.Second).Sub(start)
				want := full
				if at < 0 || at >= load*time.Second {
					want = 0
				}
				if covered == 1 && e.Total[i] != want || covered == 0 && e.Total[i] != 0 || covered > 0 && covered < 1 {
					t.Fatalf("seed %d, second %d: the column at %v has %d of %d units, covered %v", seed, second, at, e.Total[i], want, covered)
				}
			}
			last = e
		}
		if reached := last.AsOf.Sub(start); reached < (idle-90)*time.Second || reached > idle*time.Second {
			t.Errorf("seed %d: as_of is %v after start, want %d to %d s", seed, reached, idle-90, idle)
		}
	}
}
