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
	unknown               // the answer was lost
)

// delivery is the items of one call on their way.
type delivery struct {
	path  string
	key   string // Idempotency-Key; "" for none
	again bool   // applying the call twice is applying it once
	items int
	body  func(pending []int) any // of the items with these numbers
}

// deliver sends a delivery until each item is accepted, is lost, or the retries
// are used up. It returns each item's state. An error is one that ends the
// load: the context's, or an answer that no repetition would change.
func (d *driver) deliver(ctx context.Context, job delivery) ([]state, error) {
	o := newOutcome(job.items)
	for attempt := 0; ; attempt++ {
		err := d.attempt(ctx, &job, o)
		end := ending(ctx, err)
		if end != nil || len(o.pending) == 0 || o.lost && !job.again || attempt == d.Retries {
			o.giveUp()
			return o.states, end
		}
		if err := pause(ctx, attempt, err); err != nil {
			o.giveUp()
			return o.states, err
		}
		d.meter.retry()
	}
}

// attempt makes one call for the pending items.
func (d *driver) attempt(ctx context.Context, job *delivery, o *outcome) error {
	begin := time.Now()
	results, err := d.api.write(ctx, job.path, job.key, job.body(o.pending))
	if err != nil {
		var failed *callError
		o.lost = o.lost || errors.As(err, &failed) && failed.lost
		return err
	}
	d.meter.call(time.Since(begin))
	if job.key != "" {
		job.key += "+" // items left over are another call: to this key the API repeats its answer
	}
	return o.take(job.path, results)
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
	pending []int // numbers of the items not yet accepted
	lost    bool  // they may have been applied all the same
}

func newOutcome(items int) *outcome {
	o := &outcome{states: make([]state, items), pending: make([]int, items)}
	for i := range o.pending {
		o.pending[i] = i
	}
	return o
}

// take enters an answer. Items that it rejects stay pending, and are certainly
// not applied.
func (o *outcome) take(path string, results []result) error {
	o.lost = len(results) != len(o.pending)
	if o.lost {
		return fmt.Errorf("POST %s: the answer has %d results for %d items", path, len(results), len(o.pending))
	}
	var left []int
	for i, item := range o.pending {
		if results[i].accepted() {
			o.states[item] = accepted
		} else {
			left = append(left, item)
		}
	}
	o.pending = left
	return nil
}

func (o *outcome) giveUp() {
	if !o.lost {
		return
	}
	for _, i := range o.pending {
		o.states[i] = unknown
	}
}
