package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// state is what became of an item in the end.
type state uint8

const (
	rejected state = iota // certainly not applied
	accepted              // certainly applied
	unknown               // the answer, or DynamoDB's to the API, was lost
)

// delivery is the items of one call on their way.
type delivery struct {
	path  string
	key   string // Idempotency-Key; "" for none
	again bool   // applying the call twice is applying it once
	board string // that the items are for; "" for none
	list  string // what the body calls the items
	items []any
}

// body is that of a call for the items with these numbers.
func (d *delivery) body(pending []int) map[string]any {
	items := make([]any, len(pending))
	for i, at := range pending {
		items[i] = d.items[at]
	}
	body := map[string]any{d.list: items}
	if d.board != "" {
		body["board"] = d.board
	}
	return body
}

// deliver sends a delivery until each item is accepted or can't be sent again, or
// the retries are used up. It returns each item's state. An error is one that
// ends the load: the context's, or an answer that no repetition would change.
func (s *sender) deliver(ctx context.Context, job delivery) ([]state, error) {
	o := newOutcome(len(job.items))
	for attempt := 0; ; attempt++ {
		err := s.attempt(ctx, &job, o)
		end := ending(ctx, err)
		if end != nil || len(o.pending) == 0 || attempt == s.api.retries {
			return o.states, end
		}
		if err := pause(ctx, attempt, err); err != nil {
			return o.states, err
		}
		s.meter.retry()
	}
}

// attempt makes one call for the pending items.
func (s *sender) attempt(ctx context.Context, job *delivery, o *outcome) error {
	begin := time.Now()
	results, err := s.api.write(ctx, job.path, job.key, job.body(o.pending))
	if err != nil {
		if failed, ok := errors.AsType[*callError](err); ok && failed.lost {
			o.lose(job)
		}
		return err
	}
	s.meter.call(time.Since(begin))
	return o.take(job, results)
}

// ending keeps an error that ends the load: not a refusal or a loss, of which
// some are to be expected.
func ending(ctx context.Context, err error) error {
	switch {
	case err == nil, mayRetry(ctx, err):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// outcome is what is known of a delivery's items.
type outcome struct {
	states  []state
	pending []int // numbers of the items to send again
}

func newOutcome(items int) *outcome {
	o := &outcome{states: make([]state, items), pending: make([]int, items)}
	for i := range o.pending {
		o.pending[i] = i
	}
	return o
}

// lose notes that the pending items may have been applied. They stay pending if
// they may be sent again.
func (o *outcome) lose(job *delivery) {
	for _, item := range o.pending {
		if o.states[item] != accepted {
			o.states[item] = unknown
		}
	}
	if !job.again {
		o.pending = nil
	}
}

// take enters an answer. An item that it rejects stays pending, unless the API
// is unsure of it and it may not be sent again.
func (o *outcome) take(job *delivery, results []result) error {
	if len(results) != len(o.pending) {
		err := fmt.Errorf("POST %s: the answer has %d results for %d items", job.path, len(results), len(o.pending))
		o.lose(job)
		return err
	}
	var left []int
	unsure := false
	for i, item := range o.pending {
		unsure = unsure || results[i].unsure()
		o.enter(item, results[i], job.key != "")
		if o.states[item] != accepted && (job.again || !results[i].unsure()) {
			left = append(left, item)
		}
	}
	if job.key != "" {
		if unsure {
			return nil // it goes out again as it was: with another body its key would be refused
		}
		job.key += "+" // items left over are another call: to this key the API repeats its answer
	}
	o.pending = left
	return nil
}

// enter notes an item's result. A certain rejection says nothing of attempts
// before it, unless it is their key's.
func (o *outcome) enter(item int, r result, keyed bool) {
	switch {
	case r.accepted():
		o.states[item] = accepted
	case o.states[item] == accepted: // by an answer to the same key
	case r.unsure():
		o.states[item] = unknown
	case keyed:
		o.states[item] = rejected
	}
}
