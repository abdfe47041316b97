package hotkeys_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
)

// edge is the part of GET /v1/heat that the test reads.
type edge struct {
	From    time.Time
	AsOf    time.Time `json:"as_of"`
	Total   []uint64
	Covered []float64
}

func readEdge(t *testing.T, handler http.Handler) (e edge) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/heat", nil))
	if err := json.Unmarshal(recorder.Body.Bytes(), &e); err != nil || recorder.Code != http.StatusOK {
		t.Fatalf("%d %s", recorder.Code, recorder.Body)
	}
	return e
}

// TestSteadyHeatHasNoEdge checks that each covered column has all of a steady 800 WCU/s, regardless of stream shards'
// lags and the layers task's schedule. When the writes stop the columns are idle. When the detector stops they are not
// covered.
func TestSteadyHeatHasNoEdge(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 12))
		f := newFixture(settings())
		handler := httpapi.New(slog.New(slog.DiscardHandler), query.HeatRoutes(query.NewHeat(f.reader(), query.HeatOptions{Deadline: time.Minute, Now: func() time.Time { return f.now }})))
		streamShards, every := 1+random.IntN(8), []int{10, 60}[random.IntN(2)]
		const load, idle, end = 240, 360, 600 // seconds after start: end of the writes, of the detector, of the test
		lags, due := make([]time.Duration, streamShards), make(map[int][]heat.Item)
		for n := range load / 10 {
			for s := range streamShards {
				lag := min(max(time.Second, lags[s]*time.Duration(50+random.IntN(200))/100), 40*time.Second)
				lags[s] = max(lag, lags[s]-10*time.Second) // in order
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
				if _, err := f.table.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("heat"), Item: it.Stored(start.Add(time.Hour))}); err != nil {
					t.Fatal(err)
				}
			}
			if second%every == 0 && second < idle {
				f.layersTask(t)
			}
			if second%3 != 0 {
				continue
			}
			e := readEdge(t, handler)
			if e.AsOf.After(f.now) || e.AsOf.Before(last.AsOf) {
				t.Fatalf("seed %d, second %d: as of %v, and before %v", seed, second, e.AsOf, last.AsOf)
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
			t.Errorf("seed %d: as of %v", seed, reached)
		}
	}
}
