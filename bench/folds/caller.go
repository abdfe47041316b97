package folds

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
)

// Sizes of calls: the API's bounds, and how many counters one call has.
const (
	maxUnkeyed  = 500
	maxKeyed    = 99
	perCall     = 10
	maxSends    = 200 // of one keyed call, before the harness gives up
	repeatEvery = 10  // one keyed call in so many is sent again
)

// caller sends calls, one after another.
type caller struct {
	*system
	random *rand.Rand
	name   string
	calls  int    // keyed ones
	recent []sent // events that may be sent again
}

// call has callers send all that there is.
func (s *system) call(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	start := func(i, stream int, name string, run func(*caller, context.Context, int) error, n int) {
		c := &caller{system: s, random: rand.New(rand.NewPCG(s.o.Seed, uint64(stream+i))), name: fmt.Sprintf("%s%d-%d", name, s.o.Seed, i)}
		group.Go(func() error { return run(c, ctx, n) })
	}
	for i := range callers {
		start(i, 100, "c", (*caller).increments, share(s.o.Increments, callers, i))
	}
	for i := range eventCallers {
		start(i, 200, "e", (*caller).events, share(s.o.Events, eventCallers, i))
	}
	return group.Wait()
}

// share is what one of n does of a whole.
func share(whole, n, one int) int {
	if one == 0 {
		return whole/n + whole%n
	}
	return whole / n
}

// What the folds of an event and of an increment take, about: the load is spread
// over that time, so that things happen to the folds while they are made.
const (
	foldEvent     = 3 * time.Millisecond
	foldIncrement = 200 * time.Microsecond
)

// lasting is about how long a run's load takes: longer where it goes on while audits
// wait for the stream.
func (o options) lasting() time.Duration {
	load := time.Duration(o.Events)*foldEvent + time.Duration(o.Increments)*foldIncrement
	if o.Gap {
		return 2 * load
	}
	return load
}

// part is a part of that time.
func (o options) part(of float64) time.Duration { return time.Duration(float64(o.lasting()) * of) }

// pause waits between two calls of a caller that sends n of its share.
func (c *caller) pause(ctx context.Context, n, share int) {
	rig.Sleep(ctx, c.o.part(2*c.random.Float64()*float64(n)/float64(share)))
}

// post sends a call to a process of ingest. The status is 0 when that died before it
// had answered.
func (s *system) post(ctx context.Context, path string, body []byte, key string) (status int, answer []byte, err error) {
	p, err := s.ingest.pick(s.dice)
	if err != nil {
		return 0, nil, err
	}
	within, done := p.within(ctx)
	defer done()
	request := httptest.NewRequestWithContext(within, http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	recorder := httptest.NewRecorder()
	p.api.ServeHTTP(recorder, request)
	s.count("calls of the API, sent", 1)
	switch {
	case ctx.Err() != nil:
		return 0, nil, ctx.Err()
	case p.dead():
		return 0, nil, nil
	case !slices.Contains([]int{http.StatusOK, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}, recorder.Code):
		return 0, nil, fmt.Errorf("a call was answered %d: %s", recorder.Code, recorder.Body)
	}
	if answer = recorder.Body.Bytes(); s.o.answer != nil {
		answer = s.o.answer(answer)
	}
	return recorder.Code, answer, nil
}

// keyed sends a call with a key until it is answered, some from two sides at a time, and
// once more then. It has to have one answer, and to be applied once: a figure counts its
// size then. ctx has a tally.
func (c *caller) keyed(ctx context.Context, path string, body []byte, figure string, size int) ([]byte, error) {
	c.calls++
	key := fmt.Sprint(c.name, "-", c.calls)
	answers := make([][]byte, 1)
	if c.random.IntN(repeatEvery) == 0 || c.calls == 1 { // or a short run might have none
		c.inject(doubled)
		answers = make([][]byte, 3)
	}
	var group errgroup.Group
	for i := range min(2, len(answers)) {
		group.Go(func() (err error) {
			answers[i], err = c.persist(ctx, path, body, key)
			return err
		})
	}
	err := group.Wait()
	if err == nil && len(answers) > 2 {
		answers[2], err = c.persist(ctx, path, body, key)
	}
	if err != nil {
		return nil, err
	}
	for _, answer := range answers {
		if !bytes.Equal(answer, answers[0]) {
			c.differ("call %s was answered %s, and again %s", key, answers[0], answer)
		}
	}
	c.books.once(key, tallyIn(ctx), figure, size)
	return answers[0], nil
}

// persist sends a keyed call until it is answered.
func (c *caller) persist(ctx context.Context, path string, body []byte, key string) (answer []byte, err error) {
	status := 0
	for range maxSends {
		status, answer, err = c.post(ctx, path, body, key)
		if err != nil || status == http.StatusOK {
			return answer, err
		}
	}
	return nil, fmt.Errorf("call %s was sent %d times, in the end answered %d: %s", key, maxSends, status, answer)
}

// result is what the API says of a part of a call.
type result struct{ Counter, ID, Time, Status, Detail string }

func (r result) accepted() bool { return r.Status == "accepted" }

// unsure tells whether what was rejected may have been written.
func (r result) unsure() bool {
	return !r.accepted() && strings.Contains(r.Detail, "may have been written")
}

func resultsOf(answer []byte) ([]result, error) {
	var a struct{ Results []result }
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("reading the answer of a call: %w", err)
	}
	return a.Results, nil
}

// counterName names one; names may hold the separator.
func counterName(i int) string { return fmt.Sprintf("c#%d", i) }

// zipf draws one of n.
func zipf(random *rand.Rand, n int) int {
	return int(rand.NewZipf(random, 1.1, 1, uint64(n-1)).Uint64())
}

type increment struct {
	Counter string `json:"counter"`
	Delta   int64  `json:"delta"`
}

// increments sends so many, half of them in keyed calls.
func (c *caller) increments(ctx context.Context, all int) error {
	keyed, path := 0, "/v1/counters"
	for done := 0; done < all; {
		left := all - all/2 - (done - keyed) // of unkeyed ones
		n, inKeyed := min(left, maxUnkeyed), left == 0 || keyed < min(done-keyed, all/2)
		if inKeyed {
			n = min(all/2-keyed, maxKeyed)
			keyed += n
		}
		list := c.drawIncrements(n)
		body := mustJSON(map[string]any{"increments": list})
		c.count(incrementsSent, n)
		if inKeyed {
			ctx, t := withTally(ctx)
			answer, err := c.keyed(ctx, path, body, incrementsKeyed, n)
			if err != nil {
				return err
			}
			results, err := resultsOf(answer)
			if err != nil {
				return err
			}
			c.books.settle(t, list, results, true)
		} else if err := c.sendUnkeyed(ctx, path, list, body); err != nil {
			return err
		}
		done += n
		c.pause(ctx, n, all)
	}
	return nil
}

// drawIncrements draws those of a call, of a few counters. Every other counter counts
// down, so that no call's sum is 0, which would not be written.
func (c *caller) drawIncrements(n int) []increment {
	counters := make([]int, 1+c.random.IntN(perCall))
	for i := range counters {
		counters[i] = zipf(c.random, c.o.Counters)
	}
	list := make([]increment, n)
	for i := range list {
		counter := counters[c.random.IntN(len(counters))]
		list[i] = increment{counterName(counter), (1 + c.random.Int64N(9)) * int64(1-2*(counter%2))}
	}
	return list
}

// sendUnkeyed sends a call with increments once.
func (c *caller) sendUnkeyed(ctx context.Context, path string, list []increment, body []byte) error {
	ctx, t := withTally(ctx)
	status, answer, err := c.post(ctx, path, body, "")
	if err != nil {
		return err
	}
	var results []result
	if status == http.StatusOK {
		if results, err = resultsOf(answer); err != nil {
			return err
		}
	}
	for _, r := range results {
		if r.accepted() {
			c.count("increments: unkeyed and accepted", 1)
		}
	}
	c.books.settle(t, list, results, status != 0)
	return nil
}
