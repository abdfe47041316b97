package prove

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/tool/apicall"
)

// kind is a kind of API call, with its cost.
type kind struct {
	Units         // DynamoDB units of an accepted call, with its fold
	most    Units // DynamoDB units with the most retries after conflicts
	seconds float64
}

// An increment or an event costs a write unit. Its fold costs one more, or 0.3 in a batch (docs/performance.md). A
// keyed call writes two items in a transaction at twice the cost, and is retried after a conflict. The read unit is for
// the shard map. A read of hot keys reads the heat items of some minutes. The last value is the function's timeout in
// seconds.
var (
	write      = kind{Units{WriteUnits: 2, ReadUnits: 1}, Units{WriteUnits: 4, ReadUnits: 100}, 7}
	keyedWrite = kind{Units{WriteUnits: 9, ReadUnits: 1}, Units{WriteUnits: 45, ReadUnits: 100}, 7}
	readHeat   = kind{Units{ReadUnits: 100}, Units{ReadUnits: 1000}, 10}
)

// functionGB is the memory of an HTTP function.
const functionGB = 1.0

// units returns the units of an accepted call. seconds is the response time, an upper bound of the function's duration.
func (k kind) units(seconds float64) Units {
	return k.plus(Units{Requests: 1, Invocations: 1, GBSeconds: functionGB * seconds})
}

func (k kind) bound() Units {
	return k.most.plus(Units{Requests: 1, Invocations: 1, GBSeconds: functionGB * k.seconds})
}

// caller calls the API. It counts the costs, the calls and the new connections.
type caller struct {
	client *apicall.Client
	meter  *meter

	made, opened atomic.Int64 // calls, and new connections
}

const callTime = 35 * time.Second // API Gateway's timeout is 30 s

func newCaller(on *running, m *meter) *caller {
	return &caller{meter: m, client: &apicall.Client{Base: on.api, Sign: on.sign, HTTP: &http.Client{
		Timeout:   callTime,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2000, IdleConnTimeout: 30 * time.Second, Proxy: http.ProxyFromEnvironment},
	}}}
}

// answer is the result of a call.
type answer struct {
	status int
	// early means that Lambda or API Gateway rejected the call before a function ran.
	early bool
	took  time.Duration
}

// callAPI makes a call and decodes a 200 response into into, which may be nil. Error responses are answers; err is set if the
// connection fails or the ceiling is reached.
func (c *caller) callAPI(ctx context.Context, k kind, method, path, key string, body, into any) (answer, error) {
	request, err := c.client.Request(counting(ctx, &c.opened), method, path, key, body)
	if err != nil {
		return answer{}, err
	}
	done, err := c.meter.begin(k.bound())
	if err != nil {
		return answer{}, err
	}
	begun := time.Now()
	a, err := c.send(request, into)
	a.took = time.Since(begun)
	switch {
	case err != nil:
		done(k.bound()) // the outcome is unknown
	case a.early:
		done(Units{Requests: 1})
	default:
		done(k.units(a.took.Seconds()))
	}
	return a, err
}

// counting returns a context whose requests count their new connections.
func counting(ctx context.Context, opened *atomic.Int64) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if !info.Reused {
			opened.Add(1)
		}
	}})
}

func (c *caller) send(request *http.Request, into any) (answer, error) {
	c.made.Add(1)
	got, err := c.client.Do(request)
	a := answer{status: got.Code, early: isEarly(got)}
	if err == nil && a.status == http.StatusOK && into != nil {
		err = json.Unmarshal(got.Body, into)
	}
	return a, err
}

// isEarly reports whether Lambda or API Gateway rejected the call: only functions answer with problem JSON.
func isEarly(a apicall.Answer) bool {
	exhausted := a.Code == http.StatusTooManyRequests || a.Code == http.StatusServiceUnavailable
	return exhausted && !strings.HasPrefix(a.Header.Get("Content-Type"), "application/problem+json")
}

// readRetried makes a read, and repeats it for up to 20 s until it succeeds.
func (c *caller) readRetried(ctx context.Context, k kind, path string, into any) error {
	_, err := persist(ctx, 40, 500*time.Millisecond, func() (answer, error) {
		return c.callAPI(ctx, k, http.MethodGet, path, "", nil, into)
	})
	if err != nil {
		return fmt.Errorf("GET %s: %w", path, err)
	}
	return nil
}

// persist repeats a call until its status is 200, at most tries times.
func persist(ctx context.Context, tries int, pause time.Duration, call func() (answer, error)) (answer, error) {
	for try := 1; ; try++ {
		a, err := call()
		if err == nil && a.status == http.StatusOK {
			return a, nil
		}
		if err == nil {
			err = fmt.Errorf("status %d", a.status)
		}
		if try == tries || !dynamo.Pause(ctx, pause) {
			return a, fmt.Errorf("%w (%d times)", err, try)
		}
	}
}
