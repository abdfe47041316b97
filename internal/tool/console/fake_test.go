package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

type object = map[string]any

// noon is the time at which tests open the page.
var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// heatQuery has the parameters of GET /v1/heat.
type heatQuery struct {
	from, to      time.Time
	filter, index string
	unfold        []string
}

// fake is an API with invented responses in the real API's form.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	now    time.Time
	about  About
	heat   func(heatQuery) object
	hot    []object
	shards object
	status int                 // of each response; 0 for a complete one
	asked  map[string]int      // calls by path
	seen   func(*http.Request) // receives each request; may be nil
}

// serve starts a fake with the responses of story_test.go.
func serve(t *testing.T) *fake {
	t.Helper()
	f := &fake{
		asked: map[string]int{}, now: noon, heat: storm, about: About{
			Mode: "local", Where: "this machine", Command: "bin/hotshard shards set --target http://127.0.0.1:8080", Version: "0.9.0",
			Start: "bin/hotshard local --addr 127.0.0.1:9000 --partitions 64 --partition-wcu 20",
		},
	}
	f.about.Signals = signals
	cured := hotKey("C#video/7#0", "video/7", "normal", 990, 64)
	cured["worst"], cured["current"], cured["shards_before"], cured["throttled_at"] = "saturated", 13, 1, stamp(noon.Add(-6*time.Minute))
	cured["cooled_at"], cured["advice"] = stamp(noon.Add(-6*time.Minute)), "2% of the partition limit. No action needed."
	burning := hotKey("C#checkout#0", "checkout", "hot", 872.5, 2)
	burning["shards_before"] = 1
	f.hot = []object{burning, cured, hotKey("E#sensor-3#2026-11-23#0", "sensor-3", "normal", 120, 1)}
	f.setN("video/7", 1, 4, 16, 64)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		Handler(http.HandlerFunc(f.answer), f.about).ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// with changes the fake between two responses.
func (f *fake) with(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fake) calls(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked[path]
}

// setN sets the response of GET /v1/shards to a history of shard counts.
func (f *fake) setN(name string, counts ...int) {
	history := []object{}
	for i, n := range counts[1:] {
		history = append(history, object{"time": stamp(noon.Add(time.Duration(i-22) * 20 * time.Second)), "shards": n, "by": "ingest", "why": fmt.Sprintf("its writes were throttled: %d to %d", counts[i], n)})
	}
	f.shards = object{"type": "counter", "name": name, "shards": counts[len(counts)-1], "max_shards": slices.Max(counts), "pinned": false, "history": history}
}

func (f *fake) heatQuery(r *http.Request) heatQuery {
	values := r.URL.Query()
	q := heatQuery{from: f.now.Add(-15 * time.Minute), to: f.now, filter: values.Get("filter"), index: values.Get("index"), unfold: values["unfold"]}
	for name, at := range map[string]*time.Time{"from": &q.from, "to": &q.to} {
		if given, err := time.Parse(time.RFC3339, values.Get(name)); err == nil {
			*at = given
		}
	}
	return q
}

func (f *fake) answer(w http.ResponseWriter, r *http.Request) {
	f.asked[r.URL.Path]++
	if f.seen != nil {
		f.seen(r)
	}
	if f.status != 0 {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(f.status)
		_ = json.NewEncoder(w).Encode(object{"title": http.StatusText(f.status), "status": f.status, "detail": "the reason, in words"})
		return
	}
	q := r.URL.Query()
	var out any
	switch r.URL.Path {
	case "/v1/heat":
		out = f.heat(f.heatQuery(r))
	case "/v1/hot-keys":
		out = object{"keys": f.hot}
	case "/v1/shards":
		out = f.shards
	case "/v1/counters":
		value := map[string]int{"eventual": 9_120_455, "strong": 9_120_512}[q.Get("consistency")]
		out = object{"counter": q.Get("name"), "value": value, "as_of": stamp(noon.Add(-400 * time.Millisecond)), "shards": 4, "consistency": q.Get("consistency")}
	case "/v1/leaderboards":
		entries := []object{}
		for i := range 5 {
			entries = append(entries, object{"rank": i + 1, "player": fmt.Sprintf("player-%d", 17*i+3), "score": 9000 - 411*i, "time": stamp(noon)})
		}
		out = object{"board": q.Get("board"), "entries": entries, "as_of": stamp(noon)}
	case "/healthz":
		out = object{"status": "ok"}
	default:
		http.NotFound(w, r)
		return
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func hotKey(key, name, status string, rate float64, n int) object {
	kind := map[byte]string{'C': "counter", 'E': "entity"}[key[0]]
	return object{
		"key": key, "type": kind, "name": name, "status": status, "worst": status, "write_units_per_second": rate, "current": rate, "error": 3.5, "peak": rate * 1.2, "shards": n, "shards_before": n,
		"first_seen": stamp(noon.Add(-9 * time.Minute)), "last_seen": stamp(noon),
		"advice": fmt.Sprintf("Using at least %.0f%% of its partition's 1,000 WCU/s: increase from %d to %d write shards.", rate/10, n, 4*n),
	}
}

// hostile are keys that run scripts or break the layout of a careless page.
var hostile = []string{
	`<img src=x onerror="window.pwned=1">`,
	`</script><script>window.pwned=1</script>`,
	"line one\nline two\x1b[31mred\x00",
	"abc\u202egnp.exe\u2066\u200f",
	"שלום עולם مرحبا",
	strings.Repeat("long/", 410),
	"a'b\"c`d$(e)\\f & g\u2028h",
}
