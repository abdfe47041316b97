package lambda

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fleet starts containers that respond with their number, and counts their requests.
type fleet struct {
	work  time.Duration // duration of a request
	begin time.Duration // duration of a start
	fail  error         // Start's error

	mu      sync.Mutex
	made    int
	served  map[int]int
	overlap int // concurrent requests in one container
	stopped int
}

type box struct {
	*fleet
	number int
	busy   bool
}

func (f *fleet) start(context.Context) (Container, error) {
	time.Sleep(f.begin)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	f.made++
	if f.served == nil {
		f.served = map[int]int{}
	}
	return &box{fleet: f, number: f.made}, nil
}

func (b *box) Serve(w http.ResponseWriter, r *http.Request) error {
	b.mu.Lock()
	if b.busy {
		b.overlap++
	}
	b.busy = true
	b.served[b.number]++
	b.mu.Unlock()
	time.Sleep(b.work)
	b.mu.Lock()
	b.busy = false
	b.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if string(body) == "die" {
		return errors.New("as instructed")
	}
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	w.Header().Set("Number", string(rune('0'+b.number)))
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(body)
	return nil
}

func (b *box) Stop() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped++
	return nil
}

// stops returns the number of containers stopped so far.
func (f *fleet) stops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped
}

// begin returns a pool of the fleet, with a quota of its own if it has none.
func begin(f *fleet, p *Pool) *Pool {
	p.Start = f.start
	if p.Quota == nil {
		p.Quota = NewQuota(AccountQuota)
	}
	return p
}

func call(p *Pool, body string) *http.Response {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	return w.Result()
}

// calls makes n concurrent requests and counts the responses by status.
func calls(p *Pool, n int) map[int]int {
	var mu sync.Mutex
	var wg sync.WaitGroup
	statuses := map[int]int{}
	for range n {
		wg.Go(func() {
			status := call(p, "").StatusCode
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	wg.Wait()
	return statuses
}

// TestOneRequestAtATime checks that a container serves one request at a time, and that requests without a container are
// rejected.
func TestOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{work: 100 * time.Millisecond}
		p := begin(f, &Pool{Containers: 3})
		for range 5 {
			if got := calls(p, 10); got[http.StatusCreated] != 3 || got[http.StatusTooManyRequests] != 7 {
				t.Errorf("responses by status: %v, want 3 of 201 and 7 of 429", got)
			}
		}
		if f.overlap > 0 || f.made != 3 || f.served[1] != 5 || f.served[2] != 5 || f.served[3] != 5 {
			t.Errorf("%d overlapping requests, %d containers served %v; want 0, and 3 with 5 each", f.overlap, f.made, f.served)
		}
		if want := (Stats{Containers: 3, ColdStarts: 3, Requests: 50, OverPool: 35}); p.Stats() != want {
			t.Errorf("stats %+v, want %+v", p.Stats(), want)
		}
		if err := p.Stop(); err != nil || f.stops() != 3 || p.Stats().Containers != 0 {
			t.Errorf("Stop returned %v after %d containers: %+v", err, f.stops(), p.Stats())
		}
	})
}

// TestRejection checks that a rejection is distinguished from the API's own.
func TestRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{work: time.Second}
		for _, p := range []*Pool{{Quota: NewQuota(1), Containers: 2}, {Quota: NewQuota(2), Containers: 1}} {
			begin(f, p)
			go call(p, "")
			synctest.Wait()
			h := call(p, "")
			if h.StatusCode != 429 || h.Header.Get("Retry-After") != "1" || h.Header.Get(ErrorHeader) != TooManyRequests {
				t.Errorf("%d %v, want a 429 of Lambda", h.StatusCode, h.Header)
			}
			time.Sleep(time.Second) // until the other call ends
		}
	})
}

// TestQuotaIsShared checks that requests of two functions and a delivery of records share a quota, for which the delivery
// waits.
func TestQuotaIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota, f := NewQuota(3), &fleet{work: time.Minute}
		writes, reads := begin(f, &Pool{Quota: quota}), begin(f, &Pool{Quota: quota})
		go call(writes, "")
		go call(writes, "")
		synctest.Wait()
		release, err := quota.Admit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := call(reads, "").StatusCode; got != 429 || reads.Stats().OverQuota != 1 || quota.Stats().Used != 3 {
			t.Errorf("a request over the quota: %d with %+v, want 429", got, quota.Stats())
		}
		admitted := make(chan time.Time)
		go func() {
			_, _ = quota.Admit(t.Context())
			admitted <- time.Now()
		}()
		time.Sleep(10 * time.Second)
		release()
		released := time.Now()
		if waited := (<-admitted).Sub(released); waited < 0 || waited > lastPause {
			t.Errorf("the delivery waited for %v after the release, want at most %v", waited, lastPause)
		}
		if s := quota.Stats(); s.Used != 3 || s.Peak != 3 || s.Delayed < 10 {
			t.Errorf("stats %+v, want 3 used, a peak of 3, and 10 or more delayed", s)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := quota.Admit(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled delivery: %v, want context.Canceled", err)
		}
		time.Sleep(time.Minute) // until the other calls end
	})
}

// TestColdStart checks that the first request takes the longer of the cold start and the container's own start.
func TestColdStart(t *testing.T) {
	for own, want := range map[time.Duration]time.Duration{0: 250 * time.Millisecond, 100 * time.Millisecond: 250 * time.Millisecond, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := &fleet{begin: own}
			p := begin(f, &Pool{ColdStart: 250 * time.Millisecond})
			for _, want := range []time.Duration{want, 0, 0} {
				began := time.Now()
				call(p, "")
				if took := time.Since(began); took != want {
					t.Errorf("the request took %v, want %v", took, want)
				}
			}
		})
	}
}

// TestFailedContainer checks that a failed container releases its place in the pool and its quota.
func TestFailedContainer(t *testing.T) {
	quota, f := NewQuota(1), &fleet{fail: errors.New("no settings")}
	p := begin(f, &Pool{Quota: quota, Containers: 1})
	if got := call(p, ""); got.StatusCode != 500 {
		t.Errorf("a failed cold start: %d, want 500", got.StatusCode)
	}
	f.fail = nil
	if got := call(p, "die"); got.StatusCode != 500 || got.Header.Get("Number") != "" || f.stops() != 1 {
		t.Errorf("a failed container: %d, %d stopped; want 500 and 1", got.StatusCode, f.stops())
	}
	p.Start = inProcess(func(context.Context) (http.Handler, error) {
		return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("as instructed") }), nil
	})
	if got := call(p, ""); got.StatusCode != 500 {
		t.Errorf("a panic: %d, want 500", got.StatusCode)
	}
	if s := p.Stats(); s.Containers != 0 || s.Busy != 0 || s.ColdStarts != 3 || quota.Stats().Used != 0 {
		t.Errorf("pool %+v, quota %+v; want no container and none used", s, quota.Stats())
	}
}

// TestStopWhileBusy checks that a busy container is stopped after its response.
func TestStopWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{work: time.Second}
		p := begin(f, &Pool{})
		go call(p, "")
		synctest.Wait()
		if err := p.Stop(); err != nil || f.stops() != 0 {
			t.Errorf("Stop returned %v with %d stopped, want none yet", err, f.stops())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if f.stops() != 1 || p.Stats().Containers != 0 {
			t.Errorf("after the response: %d stopped, %+v; want 1 and no container", f.stops(), p.Stats())
		}
	})
}

// TestStormLeavesStreamItsConcurrency lets the API's calls use up the shared quota. The stream's functions must still run.
func TestStormLeavesStreamItsConcurrency(t *testing.T) {
	f := NewFleet(Model{Concurrency: 20})
	for range 16 { // all but the two reserved tenths
		if !f.quota.acquire() {
			t.Fatal("the shared quota is below 16")
		}
	}
	if f.quota.acquire() {
		t.Error("the API took reserved quota")
	}
	for _, function := range []string{"hotkeys", "aggregator"} {
		release, err := f.Of().Admit(t.Context(), function)
		if got := f.Quotas()[function]; err != nil || got.Used != 1 || got.Delayed != 0 {
			t.Errorf("%s: %v, %+v; want it to run at once", function, err, got)
		}
		release()
	}
}
