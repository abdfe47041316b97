package folds

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Sizes of calls with events, and how often things happen to them.
const (
	maxEvents    = 150 // of an unkeyed call
	maxRecent    = 300 // events that a caller may send again
	againPercent = 12
	keyedOneIn   = 3 // calls
	giveUpOneIn  = 12
)

const (
	eventsPath     = "/v1/events"
	statusAccepted = "accepted"
)

// eventCaller sends calls with events, one after another.
type eventCaller struct {
	*system
	draw   *drawer
	id     int
	calls  int
	recent []sent // with their identity
}

// eventCall is one call of the API.
type eventCall struct {
	key    string // "" for none
	events []sent
	again  int // of them, sent before
	body   []byte
}

func (c eventCall) entities() []string {
	list := make([]string, len(c.events))
	for i, ev := range c.events {
		list[i] = ev.Entity
	}
	return list
}

// eventResult is a part of the API's answer.
type eventResult struct{ ID, Time, Status, Detail string }

// run sends so many events.
func (c *eventCaller) run(ctx context.Context, events int) error {
	for left := events; left > 0; {
		c.calls++
		var err error
		made := eventCall{}
		keyed := c.draw.random.IntN(keyedOneIn) == 0
		if c.calls == 1 {
			keyed = c.id%2 == 0 // or a short run might have none
		}
		if keyed {
			made = c.make(min(left, 1+c.draw.random.IntN(maxKeyed)))
			made.key = fmt.Sprintf("e%d-%d-%d", c.o.Seed, c.id, c.calls)
			c.books.sentEvents(len(made.events), made.again, true)
			err = c.sendKeyed(ctx, made)
		} else {
			made = c.make(min(left, 1+c.draw.random.IntN(maxEvents)))
			c.books.sentEvents(len(made.events), made.again, false)
			err = c.sendUnkeyed(ctx, made)
		}
		if err != nil {
			return err
		}
		left -= len(made.events)
		c.pause(ctx, c.draw.random, len(made.events), events)
	}
	return nil
}

// make draws a call.
func (c *eventCaller) make(n int) (made eventCall) {
	for range n {
		if c.draw.random.IntN(100) < againPercent && len(c.recent) > 0 {
			made.again++
			made.events = append(made.events, c.draw.again(c.recent[c.draw.random.IntN(len(c.recent))]))
		} else {
			made.events = append(made.events, c.draw.event())
		}
	}
	var err error
	if made.body, err = json.Marshal(map[string]any{"events": made.events}); err != nil {
		panic(err) // plain values
	}
	return made
}

// sendUnkeyed sends a call until all of it is accepted, or the caller gives up.
func (c *eventCaller) sendUnkeyed(ctx context.Context, made eventCall) error {
	for range maxSends {
		t := newTally()
		status, body, answered, err := c.post(withTally(ctx, t), eventsPath, made.body, "")
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case answered && status == http.StatusOK:
			done, err := c.answered(made, body, t)
			if done || err != nil {
				return err
			}
		case answered && !mayBeSentAgain(status):
			return fmt.Errorf("a call with events was answered %d: %s", status, body)
		}
		if c.draw.random.IntN(giveUpOneIn) == 0 {
			return nil
		}
	}
	return fmt.Errorf("a call with %d events was sent %d times", len(made.events), maxSends)
}

// answered takes in an answer; done tells that all was accepted.
func (c *eventCaller) answered(made eventCall, body []byte, t *tally) (done bool, err error) {
	var answer struct{ Results []eventResult }
	if err := json.Unmarshal(body, &answer); err != nil {
		return false, fmt.Errorf("reading the answer of a call with events: %w", err)
	}
	if len(answer.Results) != len(made.events) {
		return false, fmt.Errorf("%d events were answered with %d results", len(made.events), len(answer.Results))
	}
	c.books.answeredEvents(answer.Results, made.entities(), t)
	if slices.ContainsFunc(answer.Results, func(r eventResult) bool { return r.Status != statusAccepted }) {
		return false, nil
	}
	c.books.count(eventsAccepted, len(made.events))
	for i, ev := range made.events {
		ev.ID, ev.Time = answer.Results[i].ID, answer.Results[i].Time
		c.remember(ev)
	}
	return true, nil
}

// remember keeps an event to be sent again, in the place of another if there are
// many.
func (c *eventCaller) remember(ev sent) {
	if len(c.recent) < maxRecent {
		c.recent = append(c.recent, ev)
		return
	}
	c.recent[c.draw.random.IntN(maxRecent)] = ev
}

// sendKeyed sends a call until it is answered, sometimes from two sides at a time.
// It has to be applied once, and to have one answer.
func (c *eventCaller) sendKeyed(ctx context.Context, made eventCall) error {
	t := newTally()
	ctx = withTally(ctx, t)
	answers := make([][]byte, 1)
	if c.draw.random.IntN(repeatEvery) == 0 {
		c.dice.count(doubled)
		answers = make([][]byte, 2)
	}
	var group errgroup.Group
	for i := range answers {
		group.Go(func() (err error) {
			answers[i], err = c.persist(ctx, eventsPath, made.body, made.key)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if !bytes.Equal(answers[0], answers[len(answers)-1]) {
		c.books.found("call %s was answered %s, and again %s", made.key, answers[0], answers[1])
	}
	c.books.once(made.key, t.transactions)
	_, err := c.answered(made, answers[0], nil)
	return err
}
