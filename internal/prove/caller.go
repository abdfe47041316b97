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

	"github.com/hotshard/hotshard/internal/apicall"
	"github.com/hotshard/hotshard/internal/dynamo"
)

// kind is a kind of call of the API, by what it uses.
type kind struct {
	Units         // of DynamoDB, an accepted call's, with those of its fold
	most    Units // of DynamoDB, also if it meets others again and again
	seconds float64
}

// An increment or an event is a write unit, and its fold one more where it is folded alone; in a
// batch that is 0.3 (docs/performance.md). A keyed call writes two items by a transaction, each
// twice as dear, and one that meets another is tried again. A read unit is for the shard map. A
// look at hot keys reads the heat items of some minutes. Seconds are the longest that the function
// goes on for a call.
var (
	write      = kind{Units{WriteUnits: 2, ReadUnits: 1}, Units{WriteUnits: 4, ReadUnits: 100}, 7}
	keyedWrite = kind{Units{WriteUnits: 9, ReadUnits: 1}, Units{WriteUnits: 45, ReadUnits: 100}, 7}
	look       = kind{Units{ReadUnits: 100}, Units{ReadUnits: 1000}, 10}
)

// functionGB is an HTTP function's memory at most, by which its time is billed.
const functionGB = 1.0

// units are those of an accepted call whose caller waited so many seconds. The function took less.
func (k kind) units(seconds float64) Units {
	return k.plus(Units{Requests: 1, Invocations: 1, GBSeconds: functionGB * seconds})
}

func (k kind) bound() Units {
	return k.most.plus(Units{Requests: 1, Invocations: 1, GBSeconds: functionGB * k.seconds})
}

// caller calls the API, and counts what that costs and how many connections it takes.
type caller struct {
	client *apicall.Client
	meter  *meter

	made, opened atomic.Int64 // calls, and connections that were new
}

const callTime = 35 * time.Second // API Gateway gives up after 30

func newCaller(on *running, m *meter) *caller {
	return &caller{meter: m, client: &apicall.Client{Base: on.api, Sign: on.sign, HTTP: &http.Client{
		Timeout:   callTime,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2000, IdleConnTimeout: 30 * time.Second, Proxy: http.ProxyFromEnvironment},
	}}}
}

// answer is what became of a call.
type answer struct {
	status int
	// early says that it was refused before any function had it: by Lambda or API Gateway.
	early bool
	took  time.Duration
}

// call makes a call and decodes what a 200 answers into into, which may be nil. An error is one of
// the way, or of the ceiling; the answer of the API is none.
func (c *caller) call(ctx context.Context, k kind, method, path, key string, body, into any) (answer, error) {
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
		done(k.bound()) // who knows
	case a.early:
		done(Units{Requests: 1})
	default:
		done(k.units(a.took.Seconds()))
	}
	return a, err
}

// counting has requests count the connections that are new.
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

// isEarly tells refusals of Lambda and API Gateway from the functions' own, which are problems.
func isEarly(a apicall.Answer) bool {
	return patience(a.Code) && !strings.HasPrefix(a.Header.Get("Content-Type"), "application/problem+json")
}

// patience tells whether a status asks for it.
func patience(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// read makes a read that has to succeed, and waits while capacity is exhausted.
func (c *caller) read(ctx context.Context, k kind, path string, into any) error {
	for try := 1; ; try++ {
		a, err := c.call(ctx, k, http.MethodGet, path, "", nil, into)
		if err == nil && a.status == http.StatusOK {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("GET %s: status %d", path, a.status)
		}
		if !patience(a.status) || try == 40 || !dynamo.Pause(ctx, 500*time.Millisecond) {
			return err
		}
	}
}
