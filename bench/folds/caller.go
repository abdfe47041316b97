package folds

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Sizes of calls: the API's bounds, and how many counters one call has.
const (
	countersPath = "/v1/counters"

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
	id     int
	calls  int
}

// call is one call of the API.
type call struct {
	key    string // "" for none
	size   int    // increments
	body   []byte
	totals map[string]int64 // by counter
}

// run sends so many increments, keyed and not, in calls that take turns.
func (c *caller) run(ctx context.Context, increments int) error {
	keyed, unkeyed := increments/2, increments-increments/2
	for keyed > 0 || unkeyed > 0 {
		if n := min(unkeyed, maxUnkeyed); n > 0 {
			if err := c.sendUnkeyed(ctx, c.make("", n)); err != nil {
				return err
			}
			unkeyed -= n
			c.pause(ctx, c.random, n, increments)
		}
		for range maxUnkeyed / maxKeyed {
			if n := min(keyed, maxKeyed); n > 0 {
				c.calls++
				key := fmt.Sprintf("%d-%d-%d", c.o.Seed, c.id, c.calls)
				if err := c.sendKeyed(ctx, c.make(key, n)); err != nil {
					return err
				}
				keyed -= n
				c.pause(ctx, c.random, n, increments)
			}
		}
	}
	return nil
}

// make draws a call of n increments of a few counters.
func (c *caller) make(key string, n int) call {
	names := make([]string, 1+c.random.IntN(perCall))
	for i := range names {
		names[i] = c.counter(int(c.zipf(c.random)))
	}
	type increment struct {
		Counter string `json:"counter"`
		Delta   int64  `json:"delta"`
	}
	made := call{key: key, size: n, totals: map[string]int64{}}
	list := make([]increment, n)
	for i := range list {
		delta := c.random.Int64N(12) - 3
		if delta == 0 {
			delta = 9
		}
		list[i] = increment{names[c.random.IntN(len(names))], delta}
		made.totals[list[i].Counter] += delta
	}
	var err error
	if made.body, err = json.Marshal(map[string]any{"increments": list}); err != nil {
		panic(err) // plain values
	}
	return made
}

// fate is what a call's answer says of a counter.
type fate int

const (
	unknown fate = iota // nothing for sure
	added
	refused // not written
)

// fates reads an answer. increments is how many were accepted.
func fates(body []byte) (of map[string]fate, increments int, err error) {
	var answer struct {
		Results []struct{ Counter, Status, Detail string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, 0, fmt.Errorf("reading the answer of a call: %w", err)
	}
	of = map[string]fate{}
	for _, result := range answer.Results {
		switch {
		case result.Status == statusAccepted:
			of[result.Counter] = added
			increments++
		case !unsure(result.Detail):
			of[result.Counter] = refused
		}
	}
	return of, increments, nil
}

// unsure tells whether what was rejected may have been written.
func unsure(detail string) bool { return strings.Contains(detail, "may have been written") }

// sendUnkeyed sends a call once, and checks what became of each counter: at least
// once if accepted, and at most once more for each answer that was lost.
func (c *caller) sendUnkeyed(ctx context.Context, made call) error {
	t := newTally()
	status, body, answered, err := c.post(withTally(ctx, t), countersPath, made.body, "")
	if err != nil {
		return err
	}
	var of map[string]fate
	increments := 0
	switch {
	case answered && status == http.StatusOK:
		if of, increments, err = fates(body); err != nil {
			return err
		}
	case answered && !mayBeSentAgain(status):
		return fmt.Errorf("a call was answered %d: %s", status, body)
	}
	c.books.unkeyed(made, increments, answered)
	for counter, total := range made.totals {
		c.books.settle(counter, total, t.of(counter), of[counter], answered)
	}
	return nil
}

func mayBeSentAgain(status int) bool {
	return slices.Contains([]int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable}, status)
}

// sendKeyed sends a call until it is answered, and some again, also at once from
// two sides. It has to be applied once.
func (c *caller) sendKeyed(ctx context.Context, made call) error {
	t := newTally()
	ctx = withTally(ctx, t)
	send := func() error { return second(c.persist(ctx, countersPath, made.body, made.key)) }
	var group errgroup.Group
	if c.random.IntN(repeatEvery) == 0 || c.calls == 1 { // or a short run might have none
		c.dice.count(doubled)
		group.Go(send)
	}
	group.Go(send)
	if err := group.Wait(); err != nil {
		return err
	}
	if c.random.IntN(repeatEvery) == 0 {
		c.dice.count(doubled)
		if err := send(); err != nil {
			return err
		}
	}
	c.books.keyed(made, t.transactions)
	return nil
}

// persist sends a keyed call until it is answered.
func (r *system) persist(ctx context.Context, path string, body []byte, key string) ([]byte, error) {
	var status int
	var answer []byte
	for range maxSends {
		var answered bool
		var err error
		status, answer, answered, err = r.post(ctx, path, body, key)
		switch {
		case err != nil:
			return nil, err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case answered && status == http.StatusOK:
			return answer, nil
		case answered && !mayBeSentAgain(status):
			return nil, fmt.Errorf("call %s was answered %d: %s", key, status, answer)
		}
	}
	return nil, fmt.Errorf("call %s was sent %d times, in the end answered %d: %s", key, maxSends, status, answer)
}
