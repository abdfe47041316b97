package load_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fault is what befalls a write.
type fault int

const (
	none      fault = iota
	busy            // 429 with Retry-After
	down            // 503
	broken          // 500; applied all the same
	lostAfter       // applied, and the connection closed without an answer
	lostFore        // the connection closed, nothing applied
	half            // the first half of the items accepted, the rest rejected
)

type fakeEvent struct {
	ID   string          `json:"id"`
	Time time.Time       `json:"time"`
	Data json.RawMessage `json:"data"`
}

// fake is the API in memory, with injected faults. Its summaries show a value
// only at the second read, as if they were folded later.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	fault    func(path string) fault
	onWrite  func(path string) // told after each write that was applied
	counters map[string]int64
	events   map[string]map[string]fakeEvent // by entity, by time and id
	answers  map[string][]byte               // by Idempotency-Key
	summary  func(name string, value int64) int64
	lag      map[string]int
	calls    map[string]int // by path and whether they had a key
	pageMax  int
}

func newFake(t *testing.T) *fake {
	f := &fake{
		fault: func(string) fault { return none }, onWrite: func(string) {},
		counters: map[string]int64{}, events: map[string]map[string]fakeEvent{}, answers: map[string][]byte{},
		summary: func(_ string, value int64) int64 { return value },
		lag:     map[string]int{}, calls: map[string]int{}, pageMax: 7,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"ok"}`) })
	mux.HandleFunc("POST /v1/events", f.write)
	mux.HandleFunc("POST /v1/counters", f.write)
	mux.HandleFunc("GET /v1/counters", f.readCounters)
	mux.HandleFunc("GET /v1/events", f.readEvents)
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// sometimes injects each of the faults with a chance of one in eight. It is
// called under the fake's lock.
func sometimes(seed uint64, faults ...fault) func(string) fault {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(string) fault {
		if n := random.IntN(8 * len(faults)); n < len(faults) {
			return faults[n]
		}
		return none
	}
}

func refuse(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"status":%d,"detail":%q,"errors":[{"location":"body.x","message":"is bad"}]}`, status, detail)
}

func (f *fake) write(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	f.calls[fmt.Sprintf("%s keyed=%t", r.URL.Path, key != "")]++
	fault := f.fault(r.URL.Path)
	switch fault {
	case busy:
		refuse(w, http.StatusTooManyRequests, "no capacity")
		return
	case down:
		refuse(w, http.StatusServiceUnavailable, "no engine")
		return
	case lostFore:
		panic(http.ErrAbortHandler)
	}
	answer, ok := f.answers[key]
	if !ok || key == "" {
		answer = f.apply(r, fault == half)
		f.answers[key] = answer
	}
	switch fault {
	case broken:
		refuse(w, http.StatusInternalServerError, "something")
	case lostAfter:
		panic(http.ErrAbortHandler)
	default:
		w.Write(answer)
	}
}

// apply writes the items of a call, or the first half of them.
func (f *fake) apply(r *http.Request, onlyHalf bool) []byte {
	var body struct {
		Events []struct {
			Entity string `json:"entity"`
			fakeEvent
		} `json:"events"`
		Increments []struct {
			Counter string `json:"counter"`
			Delta   int64  `json:"delta"`
		} `json:"increments"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		panic(err)
	}
	take := len(body.Events) + len(body.Increments)
	results := make([]map[string]string, take)
	if onlyHalf {
		take /= 2
	}
	for i := range results {
		results[i] = map[string]string{"status": "rejected", "detail": "no capacity"}
		if i >= take {
			continue
		}
		results[i]["status"] = "accepted"
		if body.Events != nil {
			f.put(body.Events[i].Entity, body.Events[i].fakeEvent)
		} else {
			f.counters[body.Increments[i].Counter] += body.Increments[i].Delta
			f.lag[body.Increments[i].Counter] = 1
		}
	}
	f.onWrite(r.URL.Path)
	text, err := json.Marshal(map[string]any{"results": results})
	if err != nil {
		panic(err)
	}
	return text
}

func (f *fake) put(entity string, e fakeEvent) {
	if f.events[entity] == nil {
		f.events[entity] = map[string]fakeEvent{}
	}
	f.events[entity][e.sortKey()] = e
}

func (e fakeEvent) sortKey() string {
	return e.Time.UTC().Format("2006-01-02T15:04:05.000Z") + "#" + e.ID
}

func (f *fake) readCounters(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	query := r.URL.Query()
	if len(query["name"]) > 100 || len(r.URL.RawQuery) > 8<<10 {
		refuse(w, http.StatusUnprocessableEntity, "too many names")
		return
	}
	var list []map[string]any
	for _, name := range query["name"] {
		value := f.counters[name]
		if query.Get("consistency") == "eventual" {
			value = f.summary(name, value)
			if f.lag[name] > 0 {
				f.lag[name]--
				value = 0
			}
		}
		list = append(list, map[string]any{"counter": name, "value": value})
	}
	if len(list) == 1 {
		json.NewEncoder(w).Encode(list[0])
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"counters": list})
}

func (f *fake) readEvents(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	query := r.URL.Query()
	from, err1 := time.Parse(time.RFC3339Nano, query.Get("from"))
	to, err2 := time.Parse(time.RFC3339Nano, query.Get("to"))
	limit, err3 := strconv.Atoi(query.Get("limit"))
	if err := cmp.Or(err1, err2, err3); err != nil {
		refuse(w, http.StatusUnprocessableEntity, err.Error())
		return
	}
	var page struct {
		Events []fakeEvent `json:"events"`
		Cursor string      `json:"cursor,omitempty"`
	}
	events := f.events[query.Get("entity")]
	for _, sk := range slices.Sorted(maps.Keys(events)) {
		e := events[sk]
		if e.Time.Before(from) || !e.Time.Before(to) || strings.Compare(sk, query.Get("cursor")) <= 0 {
			continue
		}
		if len(page.Events) == min(limit, f.pageMax) {
			page.Cursor = page.Events[len(page.Events)-1].sortKey()
			break
		}
		page.Events = append(page.Events, e)
	}
	json.NewEncoder(w).Encode(page)
}
