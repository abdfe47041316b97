package load_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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

// fault is a fault injected into a write.
type fault int

const (
	none       fault = iota
	busy             // 429 with Retry-After
	down             // 503
	broken           // 500, but applied
	lostAfter        // applied, then the connection is closed without a response
	lostFore         // the connection is closed without applying
	full             // rejected
	unsure           // applied, but rejected as possibly written
	unsureNot        // not applied, and rejected as possibly written
	downUnsure       // applied, but the response is a 503 that says it may have been written
)

type fakeEvent struct {
	ID   string          `json:"id"`
	Time time.Time       `json:"time"`
	Data json.RawMessage `json:"data"`
}

// fake is the API in memory, with injected faults. A summary shows a value only at its second read, as if it were folded
// later.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	fault    func(path string) fault
	onWrite  func(path string) // called after each write that was applied
	counters map[string]int64
	events   map[string]map[string]fakeEvent // by entity, by time and id
	answers  map[string][]byte               // by Idempotency-Key
	bodies   map[string]string               // by Idempotency-Key
	summary  func(name string, value int64) int64
	lag      map[string]int // reads of a counter's summary until it shows the value
	calls    map[string]int // by path and whether they had a key
	pageMax  int
}

func newFake(t *testing.T) *fake {
	f := &fake{
		fault: func(string) fault { return none }, onWrite: func(string) {},
		counters: map[string]int64{}, events: map[string]map[string]fakeEvent{}, answers: map[string][]byte{}, bodies: map[string]string{},
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

// unkeyed returns the number of calls of a path without an Idempotency-Key.
func (f *fake) unkeyed(path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[path+" keyed=false"]
}

// sometimes injects one of these faults into 1 of 8 calls. The fake calls it under its lock.
func sometimes(seed uint64, faults ...fault) func(string) fault {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(string) fault {
		if n := random.IntN(8 * len(faults)); n < len(faults) {
			return faults[n]
		}
		return none
	}
}

func reject(w http.ResponseWriter, status int, detail string) {
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
		reject(w, http.StatusTooManyRequests, "no capacity")
		return
	case down:
		reject(w, http.StatusServiceUnavailable, "no engine")
		return
	case lostFore:
		panic(http.ErrAbortHandler)
	}
	var c call
	body, err := io.ReadAll(r.Body)
	if err = cmp.Or(err, json.Unmarshal(body, &c)); err != nil {
		panic(err)
	}
	if before, ok := f.bodies[key]; ok && key != "" && before != string(body) {
		reject(w, http.StatusConflict, "the Idempotency-Key was used for another call")
		return
	}
	f.bodies[key] = string(body)
	answer, again := f.answers[key]
	if !again || key == "" {
		answer = acceptance
		switch fault {
		case full:
			answer = rejection("no capacity")
		case unsureNot:
		default:
			f.apply(r.URL.Path, c)
		}
		if fault != unsureNot {
			f.answers[key] = answer
		}
	}
	switch fault {
	case broken:
		reject(w, http.StatusInternalServerError, "something")
	case downUnsure:
		reject(w, http.StatusServiceUnavailable, doubt)
	case lostAfter:
		panic(http.ErrAbortHandler)
	case unsure, unsureNot:
		w.Write(rejection(doubt))
	default:
		w.Write(answer)
	}
}

// doubt is the detail of an item with an unknown outcome.
const doubt = "DynamoDB is unavailable; it may have been written"

var acceptance = []byte(`{"results":[{"status":"accepted"}]}`)

func rejection(detail string) []byte {
	return fmt.Appendf(nil, `{"results":[{"status":"rejected","detail":%q}]}`, detail)
}

// call is the body of a write, which has one item.
type call struct {
	Events []struct {
		Entity string `json:"entity"`
		fakeEvent
	} `json:"events"`
	Increments []struct {
		Counter string `json:"counter"`
		Delta   int64  `json:"delta"`
	} `json:"increments"`
}

func (f *fake) apply(path string, c call) {
	for _, e := range c.Events {
		f.put(e.Entity, e.fakeEvent)
	}
	for _, i := range c.Increments {
		f.counters[i.Counter] += i.Delta
		f.lag[i.Counter] = 1
	}
	f.onWrite(path)
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
		reject(w, http.StatusUnprocessableEntity, "too many names")
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
		reject(w, http.StatusUnprocessableEntity, err.Error())
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
