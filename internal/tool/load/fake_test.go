package load_test

import (
	"bytes"
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
	half             // the first half of the items is accepted, the rest rejected
	unsure           // applied, but the second half is rejected as possibly written
	unsureNot        // the first half is applied (nothing if keyed), the rest rejected as possibly written
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

// surely injects a fault into the first three calls of a path after an event.
// Other calls get the faults of others. The fake calls it under its lock.
func (f *fake) surely(at string, first fault, others func(string) fault) func(string) fault {
	injected := 0
	return func(path string) fault {
		if path == at && injected < 3 && len(f.events) > 0 {
			injected++
			return first
		}
		return others(path)
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
		take := c.items()
		switch {
		case fault == unsureNot && key != "":
			take = 0
		case fault == half, fault == unsureNot:
			take /= 2
		}
		f.apply(r.URL.Path, c, take)
		if answer = results(c.items(), take, full); fault != unsureNot {
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
	case unsure:
		w.Write(results(c.items(), c.items()/2, doubt))
	case unsureNot:
		w.Write(bytes.ReplaceAll(answer, []byte(full), []byte(doubt)))
	default:
		w.Write(answer)
	}
}

// Details of rejected items.
const (
	full  = "no capacity"
	doubt = "DynamoDB is unavailable; it may have been written"
)

// call is the body of a write.
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

func (c call) items() int { return len(c.Events) + len(c.Increments) }

// apply applies the first items of a call.
func (f *fake) apply(path string, c call, take int) {
	for i := range take {
		if c.Events != nil {
			f.put(c.Events[i].Entity, c.Events[i].fakeEvent)
			continue
		}
		f.counters[c.Increments[i].Counter] += c.Increments[i].Delta
		f.lag[c.Increments[i].Counter] = 1
	}
	f.onWrite(path)
}

// results returns a response that accepts the first of a call's items, and rejects the rest.
func results(items, accepted int, detail string) []byte {
	list := make([]map[string]string, items)
	for i := range list {
		if list[i] = map[string]string{"status": "accepted"}; i >= accepted {
			list[i] = map[string]string{"status": "rejected", "detail": detail}
		}
	}
	text, err := json.Marshal(map[string]any{"results": list})
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
