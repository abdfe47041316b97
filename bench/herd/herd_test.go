package herd

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

var keys = flag.Int("keys", lane.Runs(20, 60), "limits that are hit; at least 16. The number of partitions goes by it")

// What comes: callers of keys, each of which may be hit so often a minute.
const (
	callers   = 8 // of each key
	perMinute = 4
	processes = 4
	think     = 10 * time.Second // mean time from a hit that was allowed to the caller's next
	warm      = time.Minute
	measured  = 3 * time.Minute
)

// herd is one run.
type herd struct {
	stagger  bool
	jitter   time.Duration // the most that a refused caller waits beyond the window's end
	begin    time.Time
	engine   *engine
	limiters []*limits.Limiter

	mu        sync.Mutex
	attempts  map[int64]int // by second
	allowed   int
	failed    int // calls that found no capacity within 5 s
	latencies []time.Duration
}

// count counts attempts, and lets them through.
func (h *herd) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		h.mu.Lock()
		h.attempts[int64(time.Since(h.begin)/time.Second)]++
		h.mu.Unlock()
		return next.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// start makes the processes, behind a limiter whose partitions take 25 write units a
// second each: 64 of them for 1,000 keys, 24 times what the limits allow on average.
func (h *herd) start(t *testing.T) *limiter.Limiter {
	h.engine, h.begin, h.attempts = &engine{used: map[string]int{}}, time.Now(), map[int64]int{}
	limiter2, err := limiter.New(limiter.Options{Partitions: *keys * 64 / 1000, PartitionWCU: 25, Base: h.engine})
	if err != nil {
		t.Fatal(err)
	}
	client := func(transport http.RoundTripper) *dynamodb.Client {
		return local.DynamoDB("http://127.0.0.1:1", "", func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: transport} })
	}
	items, shardMap := client(h.count(limiter2)), client(h.engine)
	for range processes {
		h.limiters = append(h.limiters, limits.New(items, "items", shardmap.New(shardMap, "shard-map", shardmap.Options{}), limits.Options{Stagger: h.stagger}))
	}
	return limiter2
}

// call is one caller's life.
func (h *herd) call(t *testing.T, key, caller int) {
	random := rand.New(rand.NewPCG(uint64(key), uint64(caller)))
	limit := limits.Limit{Key: fmt.Sprint("key-", key), Max: perMinute, Window: time.Minute}
	l := h.limiters[random.IntN(processes)]
	time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
	for time.Since(h.begin) < warm+measured {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		from := time.Now()
		v, err := l.Hit(ctx, limit, from)
		cancel()
		h.note(from, v, err)
		wait := time.Duration(random.ExpFloat64() * float64(think))
		if err == nil && !v.Allowed {
			wait = time.Until(v.Resets)
			if h.jitter > 0 {
				wait += time.Duration(random.Int64N(int64(h.jitter)))
			}
		}
		time.Sleep(wait)
	}
}

func (h *herd) note(from time.Time, v limits.Verdict, err error) {
	if from.Sub(h.begin) < warm {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err != nil:
		h.failed++
	case v.Allowed:
		h.allowed++
		h.latencies = append(h.latencies, time.Since(from))
	}
}

// result is what a run shows of the measured time.
type result struct {
	peak, throttled int // attempts in the heaviest second; refused by a partition
	allowed, failed int
	p99             time.Duration
}

func run(t *testing.T, h *herd) (r result) {
	synctest.Test(t, func(t *testing.T) {
		limits := h.start(t)
		var group sync.WaitGroup
		for key := range *keys {
			for caller := range callers {
				group.Go(func() { h.call(t, key, caller) })
			}
		}
		time.Sleep(warm)
		limits.Reset()
		group.Wait()
		for second, n := range h.attempts {
			if second >= int64(warm/time.Second) {
				r.peak = max(r.peak, n)
			}
		}
		for _, o := range limits.Stats().Operations {
			r.throttled += int(o.ThrottledRequests)
		}
		slices.Sort(h.latencies)
		r.allowed, r.failed, r.p99 = h.allowed, h.failed, h.latencies[len(h.latencies)*99/100]
	})
	return r
}

// TestHerd compares what may be done about a herd.
func TestHerd(t *testing.T) {
	t.Logf("%d keys, %d hits a minute each, %d callers of each key", *keys, perMinute, callers)
	results := map[string]result{}
	for _, c := range []struct {
		name    string
		stagger bool
		jitter  time.Duration
	}{
		{"windows begin together", false, 0},
		{"callers wait up to 10 s more", false, 10 * time.Second},
		{"windows begin apart", true, 0},
		{"both", true, 10 * time.Second},
	} {
		r := run(t, &herd{stagger: c.stagger, jitter: c.jitter})
		results[c.name] = r
		t.Logf("%-30s peak second %5d attempts, %6d throttled, %5d allowed, %5d calls failed, p99 %v",
			c.name, r.peak, r.throttled, r.allowed, r.failed, r.p99.Round(time.Millisecond))
	}
	together, apart := results["windows begin together"], results["windows begin apart"]
	if together.peak < 5*apart.peak || apart.throttled > together.throttled/100 {
		t.Errorf("begins apart: %+v, together: %+v", apart, together)
	}
}
