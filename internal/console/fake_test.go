package console

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

type object = map[string]any

// noon is the time at which the tests' pages are opened, by the clock that they are given.
var noon = time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)

// fake is an API with answers made by hand. They have the form of api.md's.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	about  About
	heat   func(from time.Time, prefix string) object
	hot    []object
	shards object
	status int // other than 0: of every call's problem
	asked  map[string]int
	seen   func(*http.Request) // may be nil
}

// serve starts a fake with a viral counter among cold keys.
func serve(t *testing.T) *fake {
	t.Helper()
	f := &fake{asked: map[string]int{}, about: About{
		Mode: "local", Where: "this machine", Command: "bin/hotshard shards set --target http://127.0.0.1:8080", Version: "0.9.0",
	}}
	f.about.Pipeline = func(context.Context) []Reader {
		lag := 0.4
		return []Reader{{Name: "hotkeys", Lag: &lag}, {Name: "aggregator", Lag: &lag}}
	}
	f.heat = func(from time.Time, prefix string) object { return only(viral(from, noon, 90), prefix) }
	f.hot = []object{hotKey("C#video/7#1", "video/7", "saturated", 990, 4), hotKey("C#video/7#0", "video/7", "hot", 812.5, 4), hotKey("E#sensor-3#2026-11-23#0", "sensor-3", "warm", 120, 1)}
	f.setN(1, 2, 4)
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		Handler(http.HandlerFunc(f.answer), f.about).ServeHTTP(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// with changes the fake between two of its answers.
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

func (f *fake) setN(counts ...int) {
	history := []object{}
	for i, n := range counts[1:] {
		history = append(history, object{"time": stamp(noon.Add(time.Duration(i-len(counts)) * 2 * time.Minute)), "shards": n, "by": "hotkeys", "why": fmt.Sprintf("812.5 write units a second on one write shard: %d to %d", counts[i], n)})
	}
	f.shards = object{"type": "counter", "name": "video/7", "shards": counts[len(counts)-1], "max_shards": counts[len(counts)-1], "pinned": false, "history": history}
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
		from := noon.Add(-15 * time.Minute)
		if given, err := time.Parse(time.RFC3339, q.Get("from")); err == nil {
			from = given
		}
		out = f.heat(from, q.Get("prefix"))
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
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out)
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func hotKey(key, name, status string, rate float64, n int) object {
	kind := map[byte]string{'C': "counter", 'E': "entity"}[key[0]]
	return object{
		"key": key, "type": kind, "name": name, "status": status, "write_units_per_second": rate, "error": 3.5, "peak": rate * 1.2, "shards": n,
		"first_seen": stamp(noon.Add(-9 * time.Minute)), "last_seen": stamp(noon),
		"advice": fmt.Sprintf("at least %.0f %% of the 1000 write units a second that a partition takes: raise its %d write shards to %d", rate/10, n, 4*n),
	}
}

// row is one of the heat map's, with the units of its columns.
func row(key string, keys int, status string, rate float64, units []uint64) object {
	made := object{"key": key, "keys": keys, "status": status, "write_units_per_second": rate, "units": units, "error": make([]uint64, len(units))}
	if keys > 1 {
		made["first"], made["last"] = key+"0", key+"zz"
	}
	return made
}

// matrix puts rows together; some units are in none of them.
func matrix(from time.Time, step time.Duration, rows []object, covered []float64) object {
	columns := len(covered)
	rest, total := make([]uint64, columns), make([]uint64, columns)
	for i := range columns {
		rest[i] = uint64(25 * step.Seconds() * math.Ceil(covered[i]))
		total[i] = rest[i]
		for _, r := range rows {
			total[i] += r["units"].([]uint64)[i]
		}
	}
	return object{
		"from": stamp(from), "to": stamp(from.Add(time.Duration(columns) * step)), "step": step.String(), "partition_wcu": 1000, "hot_wcu": 700, "as_of": stamp(noon),
		"rows": rows, "rest": rest, "total": total, "covered": covered,
	}
}

// viral is a counter that goes viral in the second half, on two write shards, among cold
// ranges. The third and the fourth column of ten were not read, or in part.
func viral(from, to time.Time, columns int) object {
	step := max(time.Second, to.Sub(from)/time.Duration(columns)).Truncate(time.Second)
	random := rand.New(rand.NewPCG(1, 2))
	covered := make([]float64, columns)
	for i := range covered {
		covered[i] = 1
	}
	for i := columns / 5; i < columns/5+columns/30; i++ {
		covered[i] = 0
	}
	covered[columns/5+columns/30] = 0.5
	units := func(rate func(x float64) float64) []uint64 {
		list := make([]uint64, columns)
		for i := range list {
			if covered[i] > 0 {
				list[i] = uint64(max(0, rate(float64(i)/float64(columns))*step.Seconds()*(0.8+0.4*random.Float64())))
			}
		}
		return list
	}
	storm := func(top, at float64) func(float64) float64 {
		return func(x float64) float64 { return top / (1 + math.Exp(-40*(x-at))) }
	}
	var rows []object
	for i := range 60 {
		base := 3 + 60*math.Pow(random.Float64(), 4)
		rows = append(rows, row(fmt.Sprintf("C#page/%02d", i), 30+random.IntN(200), "warm", base/3, units(func(x float64) float64 { return base * (1 + 0.6*math.Sin(9*x+float64(i))) })))
	}
	for i, s := range []struct {
		status    string
		rate, top float64
	}{{"hot", 812.5, 800}, {"saturated", 990, 980}} {
		viral := row(fmt.Sprintf("C#video/7#%d", i), 1, s.status, s.rate, units(storm(s.top, 0.5+0.1*float64(i))))
		viral["type"], viral["name"] = "counter", "video/7"
		for j := range columns {
			viral["error"].([]uint64)[j] = viral["units"].([]uint64)[j] / 40
		}
		rows = append(rows, viral)
	}
	for i := range 40 {
		base := 2 + 30*math.Pow(random.Float64(), 3)
		rows = append(rows, row(fmt.Sprintf("E#sensor-%02d", i), 10+random.IntN(50), "warm", base/2, units(func(x float64) float64 { return base })))
	}
	return matrix(from, step, rows, covered)
}

// only leaves the rows of keys that begin with a prefix; what the others have is in none.
func only(heat object, prefix string) object {
	rows, rest := []object{}, heat["rest"].([]uint64)
	for _, r := range heat["rows"].([]object) {
		if strings.HasPrefix(r["key"].(string), prefix) {
			rows = append(rows, r)
			continue
		}
		for i, u := range r["units"].([]uint64) {
			rest[i] += u
		}
	}
	heat["rows"] = rows
	return heat
}

// day is 24 hours of 10,000 keys in 256 rows, ten of them hot: all that the API hands out at most.
func day(columns int) object {
	random := rand.New(rand.NewPCG(3, 4))
	to := noon
	step := 24 * time.Hour / time.Duration(columns)
	covered := make([]float64, columns)
	for i := range covered {
		covered[i] = 1
	}
	var rows []object
	for i := range 256 {
		list := make([]uint64, columns)
		status, keys, base := "warm", 40, 20*random.Float64()
		if i%25 == 7 {
			status, keys, base = "hot", 1, 600+200*random.Float64()
		}
		for j := range list {
			list[j] = uint64(base * step.Seconds() * (0.3 + random.Float64()) * (1 + math.Sin(float64(j)/20)))
		}
		rows = append(rows, row(fmt.Sprintf("user#%03d", i), keys, status, base, list))
	}
	return matrix(to.Add(-24*time.Hour), step, rows, covered)
}

// hostile are keys that would act on a page, or break its look.
var hostile = []string{
	`<img src=x onerror="window.pwned=1">`,
	`</script><script>window.pwned=1</script>`,
	"line one\nline two\x1b[31mred\x00",
	"abc\u202egnp.exe\u2066\u200f",
	"שלום עולם مرحبا",
	strings.Repeat("long/", 410),
	"a'b\"c`d$(e)\\f & g\u2028h",
}
