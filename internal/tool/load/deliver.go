package load

import (
	"context"
	"errors"
	"fmt"
)

// state is the final state of an item.
type state uint8

const (
	rejected state = iota // certainly not applied
	accepted              // certainly applied
	unknown               // the outcome is unknown
)

// delivery is the items of one call.
type delivery struct {
	path       string
	key        string // Idempotency-Key; "" for none
	idempotent bool   // applying the call twice is the same as once
	list       string // the items' field in the body
	items      []any
}

// body returns the body of a call for the items with these numbers.
func (d *delivery) body(pending []int) map[string]any {
	items := make([]any, len(pending))
	for i, at := range pending {
		items[i] = d.items[at]
	}
	return map[string]any{d.list: items}
}

// deliver sends a delivery, and retries the items that may be retried until they are accepted or the retries are used up.
// It returns each item's state. An error means that the load must end: the context's, or one that no retry will change.
func (s *sender) deliver(ctx context.Context, job delivery) ([]state, error) {
	o := newOutcome(len(job.items))
	for attempt := 0; ; attempt++ {
		err := s.attempt(ctx, &job, o)
		fatal := fatalError(ctx, err)
		if fatal != nil || len(o.pending) == 0 || attempt == s.api.retries {
			return o.states, fatal
		}
		if err := pause(ctx, attempt, err); err != nil {
			return o.states, err
		}
		s.retries.Add(1)
	}
}

// attempt makes one call for the pending items.
func (s *sender) attempt(ctx context.Context, job *delivery, o *outcome) error {
	results, err := s.api.write(ctx, job.path, job.key, job.body(o.pending))
	if err != nil {
		if failed, ok := errors.AsType[*callError](err); ok && failed.ambiguous {
			o.loseResponse(job)
		}
		return err
	}
	return o.addResponse(job, results)
}

// fatalError returns the error if it ends the load. Errors that may be retried, such as throttling, do not.
func fatalError(ctx context.Context, err error) error {
	switch {
	case err == nil, mayRetry(ctx, err):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// outcome has the states of a delivery's items.
type outcome struct {
	states  []state
	pending []int // numbers of the items to retry
}

func newOutcome(items int) *outcome {
	o := &outcome{states: make([]state, items), pending: make([]int, items)}
	for i := range o.pending {
		o.pending[i] = i
	}
	return o
}

// loseResponse marks the pending items as possibly applied. They stay pending if they may be retried.
func (o *outcome) loseResponse(job *delivery) {
	for _, item := range o.pending {
		if o.states[item] != accepted {
			o.states[item] = unknown
		}
	}
	if !job.idempotent {
		o.pending = nil
	}
}

// addResponse adds the results of a call. A rejected item stays pending, unless its outcome is unknown and it may not
// be retried.
func (o *outcome) addResponse(job *delivery, results []result) error {
	if len(results) != len(o.pending) {
		err := fmt.Errorf("POST %s: the answer has %d results for %d items", job.path, len(results), len(o.pending))
		o.loseResponse(job)
		return err
	}
	var left []int
	ambiguous := false
	for i, item := range o.pending {
		ambiguous = ambiguous || results[i].ambiguous()
		o.setResult(item, results[i], job.key != "")
		if o.states[item] != accepted && (job.idempotent || !results[i].ambiguous()) {
			left = append(left, item)
		}
	}
	if job.key != "" {
		if ambiguous {
			return nil // retried unchanged: the API rejects another body under the same key
		}
		job.key += "+" // the remaining items need a new key: under this one the API repeats its response
	}
	o.pending = left
	return nil
}

// setResult sets an item's state. A certain rejection says nothing of earlier attempts, unless they had the same key.
func (o *outcome) setResult(item int, r result, keyed bool) {
	switch {
	case r.accepted():
		o.states[item] = accepted
	case o.states[item] == accepted: // by a response to the same key
	case r.ambiguous():
		o.states[item] = unknown
	case keyed:
		o.states[item] = rejected
	}
}
