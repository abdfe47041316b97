package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// outcome is the final state of a write.
type outcome uint8

const (
	rejected outcome = iota // certainly not applied
	accepted                // certainly applied
	unknown                 // perhaps applied
)

// send writes a request's event, unless CountersOnly is set, and its increment, in a call each, and records their
// outcomes. A rejected write is no error: an error ends the load.
func (d *driver) send(ctx context.Context, request Request) error {
	if request.Time.IsZero() {
		request.Time = time.Now().UTC().Truncate(time.Millisecond)
	}
	writes := []func(context.Context, Request) (outcome, error){d.putEvent, d.increment}
	if d.CountersOnly {
		writes = writes[1:]
	}
	var outcomes []outcome
	for _, write := range writes {
		state, err := write(ctx, request)
		if err != nil {
			return err
		}
		outcomes = append(outcomes, state)
	}
	d.ledger.addRequest(outcomes)
	d.Progress(1)
	return nil
}

// event is an event as the API takes it.
type event struct {
	Entity string    `json:"entity"`
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Data   EventData `json:"data"`
}

// putEvent sends a request's event, and records its outcome.
func (d *driver) putEvent(ctx context.Context, request Request) (outcome, error) {
	body := map[string][]event{"events": {{Entity: request.Entity(), ID: request.ID, Time: request.Time, Data: request.Data()}}}
	outcome, err := d.sendUntilKnown(ctx, "/v1/events", "", true, body)
	d.ledger.addEvent(request, outcome)
	return outcome, err
}

// increment is an increment as the API takes it.
type increment struct {
	Counter string `json:"counter"`
	Delta   int64  `json:"delta"`
}

// increment sends a request's increment, with Verify under an Idempotency-Key, and records its outcome.
func (d *driver) increment(ctx context.Context, request Request) (outcome, error) {
	key := ""
	if d.Verify {
		key = fmt.Sprintf("load-%s-%d", d.keyPrefix, d.keys.Add(1))
	}
	body := map[string][]increment{"increments": {{request.Counter(), 1}}}
	outcome, err := d.sendUntilKnown(ctx, "/v1/counters", key, d.Verify, body)
	d.ledger.addIncrement(request.Counter(), outcome)
	return outcome, err
}

// sendUntilKnown makes a call with one item, and retries until the item is accepted or the retries are used up. It retries an
// unknown outcome only if the call is idempotent. An error, permanent or ctx's, ends the load. A key of "" is no Idempotency-Key.
func (d *driver) sendUntilKnown(ctx context.Context, path, key string, idempotent bool, body any) (outcome outcome, err error) {
	for attempt := 0; ; attempt++ {
		result, err := d.postItem(ctx, path, key, body)
		failed, isCallError := errors.AsType[*CallError](err)
		ambiguous := result.ambiguous() || (isCallError && failed.ambiguous)
		switch {
		case result.accepted():
			return accepted, nil
		case ambiguous:
			outcome = unknown
		case err == nil && key != "":
			outcome = rejected // so were earlier attempts with this key
			key += "+"         // with the same key the API would repeat its response
		}
		fatal, mustNotRepeat := fatalError(ctx, err), ambiguous && !idempotent
		if fatal != nil || mustNotRepeat || attempt == d.Retries {
			return outcome, fatal
		}
		if err := pauseBeforeRetry(ctx, attempt, err); err != nil {
			return outcome, err
		}
		d.retried.Add(1)
	}
}

// fatalError returns the error that ends the load, or nil if err is nil or may be retried, such as a throttle.
func fatalError(ctx context.Context, err error) error {
	switch {
	case err == nil, mayRetry(ctx, err):
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}
