package hotkeys_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/test/require"
)

// check compares heat with the plain count: for windows of each length, and for the two calls that show it.
func (s *schedule) check() {
	s.t.Helper()
	for _, step := range []time.Duration{time.Second, time.Minute, 10 * time.Minute} {
		s.checkWindows(step)
	}
	if len(s.lost) == 0 {
		s.checkMap()
		s.checkHotKeys()
	}
	if blocks := s.progress(s.t).Blocks; blocks.Before(start.Add(s.length)) {
		s.t.Errorf("blocks up to %v", blocks)
	}
}

// span is the time of an item of heat: a window, or several windows that are folded.
type span struct {
	start  time.Time
	length time.Duration
}

// windows iterates over the starts of the span's windows.
func (x span) windows(yield func(time.Time) bool) {
	for at := x.start; at.Before(x.start.Add(x.length)); at = at.Add(10 * time.Second) {
		if !yield(at) {
			return
		}
	}
}

// spanUnits are a span's units by key, and by key those of its heaviest window.
type spanUnits struct {
	Sums, Tops map[string]uint64
	incomplete bool
}

// checkWindows compares the units of windows, and of folded items the units in the heaviest window.
func (s *schedule) checkWindows(step time.Duration) {
	s.t.Helper()
	left := maps.Clone(s.writes)
	for x, got := range s.spans(step) {
		want := spanUnits{map[string]uint64{}, map[string]uint64{}, false}
		mayLack, mayRepeat := false, false
		for at := range x.windows {
			for key, n := range left[at] {
				want.Sums[key] += n
				want.Tops[key] = max(want.Tops[key], n)
			}
			delete(left, at) // so that another item of this time has too many units
			mayLack, mayRepeat = mayLack || s.lost[at], mayRepeat || s.slowed[at]
		}
		switch diff := cmp.Diff(want, *got, cmpopts.IgnoreUnexported(spanUnits{})); {
		case got.incomplete && !mayLack:
			s.t.Errorf("step %v: %v from %v is incomplete, and no state was lost", step, x.length, x.start)
		case got.incomplete:
			for key, n := range got.Sums {
				if !mayRepeat && (n > want.Sums[key] || got.Tops[key] > want.Tops[key]) {
					s.t.Errorf("step %v: %v from %v has %d units of %s, want at most %d", step, x.length, x.start, n, key, want.Sums[key])
				}
			}
		case diff != "":
			s.t.Errorf("step %v: %v from %v (-writes +heat):\n%s", step, x.length, x.start, diff)
		}
	}
	for at, keys := range left {
		s.t.Errorf("step %v: no item has %v at %v", step, keys, at)
	}
}

// spans returns the units of all items of heat, of all stream shards together.
func (s *schedule) spans(step time.Duration) map[span]*spanUnits {
	spans := map[span]*spanUnits{}
	for w, err := range s.reader().Windows(s.t.Context(), start.Add(-time.Hour), s.now, step) {
		require.NoError(s.t, err)
		if len(w.Unreadable) > 0 {
			s.checkUnreadable(w)
			spans[span{w.Start, w.Length}] = &spanUnits{map[string]uint64{}, map[string]uint64{}, true}
		}
		for _, it := range w.Items {
			x := span{it.Start, it.Window}
			if spans[x] == nil {
				spans[x] = &spanUnits{map[string]uint64{}, map[string]uint64{}, false}
			}
			spans[x].incomplete = spans[x].incomplete || it.Incomplete
			for _, k := range it.Keys {
				if it.Base == 0 {
					k.Top = k.Units
				}
				spans[x].Sums[k.Key] += k.Units
				spans[x].Tops[k.Key] += k.Top
			}
		}
	}
	return spans
}

// checkUnreadable checks that only a block whose items came too late is incomplete.
func (s *schedule) checkUnreadable(w heat.Window) {
	s.t.Helper()
	if w.Length != heat.Blocks.Length() || s.length+s.away < 60*time.Minute {
		s.t.Errorf("unreadable at %v: %v", w.Start, w.Unreadable)
	}
}

// heatAPI serves the heat of a table by a clock.
func heatAPI(reader heat.WindowReader, now func() time.Time) http.Handler {
	source := query.NewHeat(reader, query.HeatOptions{Deadline: time.Minute, Now: now})
	return httpapi.New(discard, query.HeatRoutes(source))
}

// get decodes the response of a call.
func (s *schedule) get(path string, parameters url.Values, response any) {
	s.t.Helper()
	recorder := httptest.NewRecorder()
	heatAPI(s.reader(), func() time.Time { return s.now }).ServeHTTP(recorder, httptest.NewRequestWithContext(s.t.Context(), "GET", path+"?"+parameters.Encode(), nil))
	require.NoError(s.t, json.Unmarshal(recorder.Body.Bytes(), response))
}

// checkMap compares GET /v1/heat: each row of one key, in each column, and whether the key was ever hot.
func (s *schedule) checkMap() {
	s.t.Helper()
	var got struct {
		Rows []struct {
			Key   string
			Keys  int
			Worst string
			Units []uint64
		}
		Total []uint64
	}
	columns := int(s.length / (10 * time.Second))
	s.get("/v1/heat", url.Values{"from": {start.Format(time.RFC3339)}, "to": {start.Add(s.length).Format(time.RFC3339)}, "step": {"10s"}}, &got)
	want, totals, hot := map[string][]uint64{}, make([]uint64, columns), map[string]bool{}
	for at, keys := range s.writes {
		for key, n := range keys {
			if want[key] == nil {
				want[key] = make([]uint64, columns)
			}
			want[key][at.Sub(start)/(10*time.Second)] = n
			totals[at.Sub(start)/(10*time.Second)] += n
			hot[key] = hot[key] || n >= 70
		}
	}
	for _, row := range got.Rows {
		if row.Keys == 1 && (!slices.Equal(row.Units, want[row.Key]) || row.Worst == "normal" && hot[row.Key] || row.Worst != "normal" && slices.Max(row.Units) < 10) {
			s.t.Errorf("GET /v1/heat: %+v, want %v, hot %t", row, want[row.Key], hot[row.Key])
		}
		delete(hot, row.Key)
	}
	for key := range hot {
		s.t.Errorf("GET /v1/heat has no row of %s", key)
	}
	if !slices.Equal(got.Total, totals) {
		s.t.Errorf("GET /v1/heat: total %v, want %v", got.Total, totals)
	}
}

// checkHotKeys compares GET /v1/hot-keys: the rate of each key's hottest window.
func (s *schedule) checkHotKeys() {
	s.t.Helper()
	var response struct {
		Keys []struct {
			Key  string
			Rate float64 `json:"write_units_per_second"`
		}
	}
	s.get("/v1/hot-keys", url.Values{"since": {"24h"}}, &response)
	got, want := map[string]float64{}, map[string]float64{}
	for _, k := range response.Keys {
		got[k.Key] = k.Rate
	}
	for _, keys := range s.writes {
		for key, n := range keys {
			want[key] = max(want[key], heat.Hundredths(float64(n)/10))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("GET /v1/hot-keys (-writes +rates):\n%s", diff)
	}
}

// faulty is the heat table of a schedule. Whether a put fails depends only on the seed and the item's key.
type faulty struct {
	*fakeTable
	s *schedule
}

func (f *faulty) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if f.s.putSlowly(in.Item) {
		return &dynamodb.PutItemOutput{}, nil
	}
	chance, task := f.s.chance(in.Item)
	if task && chance%20 == 7 {
		f.s.overtake()
	}
	if f.s.isSlow {
		return f.fakeTable.PutItem(ctx, in, o...)
	}
	if f.s.faults > 0 && !f.s.nothing && chance%f.s.faults == 0 {
		return nil, errPut
	}
	out, err := f.fakeTable.PutItem(ctx, in, o...)
	if f.s.faults > 0 && !f.s.nothing && chance%f.s.faults == 1 {
		return nil, errPut // and it took effect
	}
	return out, err
}

// putSlowly reports whether a put ends late. It takes effect with [schedule.endPuts].
func (s *schedule) putSlowly(item dynamo.Item) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	slow := s.isSlow && strings.HasPrefix(dynamo.Text(item, "pk"), "K#2")
	if slow {
		s.pause.Store(int64(30 * time.Second))
		s.pending = append(s.pending, item)
	}
	return slow
}

// chance returns a random number for a put, and whether a run of the task makes it that may be overtaken.
func (s *schedule) chance(item dynamo.Item) (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := dynamo.Text(item, "pk") + " " + dynamo.Text(item, "sk")
	s.tries[key]++
	hash := fnv.New64a()
	fmt.Fprint(hash, s.seed, key, s.tries[key])
	return rand.New(rand.NewPCG(hash.Sum64(), 1)).Uint64(), s.inTask && !s.overtaken
}

// overtake makes up to a minute of steps, and runs the task in another process.
func (s *schedule) overtake() {
	s.overtaken = true
	s.restart()
	for range s.random.IntN(6) {
		s.step()
	}
	s.runTask()
	s.overtaken = false
}
