package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// state is the final state of a write.
type state uint8

const (
	rejected state = iota // certainly not applied
	accepted              // certainly applied
	unknown               // the outcome is unknown
)

// send writes a request through the API, its event in one call, its increment in another, and records their outcomes. Only
// with Verify do increments have an Idempotency-Key.
func (d *driver) send(ctx context.Context, r Request) error {
	if r.Time.IsZero() {
		r.Time = time.Now().UTC().Truncate(time.Millisecond)
	}
	writes := []func(context.Context, Request) (state, error){d.putEvent, d.increment}
	if d.CountersOnly {
		writes = writes[1:]
	}
	var became []state
	for _, write := range writes {
		state, err := write(ctx, r)
		if err != nil {
			return err
		}
		became = append(became, state)
	}
	d.ledger.request(became)
	d.Progress(1)
	return nil
}

type event struct {
	Entity string    `json:"entity"`
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Data   EventData `json:"data"`
}

func (d *driver) putEvent(ctx context.Context, r Request) (state, error) {
	body := map[string][]event{"events": {{Entity: r.Entity(), ID: r.ID, Time: r.Time, Data: r.Data()}}}
	became, err := d.deliver(ctx, "/v1/events", "", true, body)
	d.ledger.event(r, became)
	return became, err
}

type increment struct {
	Counter string `json:"counter"`
	Delta   int64  `json:"delta"`
}

func (d *driver) increment(ctx context.Context, r Request) (state, error) {
	key := ""
	if d.Verify {
		key = fmt.Sprintf("load-%s-%d", d.run, d.calls.Add(1))
	}
	body := map[string][]increment{"increments": {{r.Counter(), 1}}}
	became, err := d.deliver(ctx, "/v1/counters", key, d.Verify, body)
	d.ledger.increment(r.Counter(), became)
	return became, err
}

// deliver makes a call with one item, and retries it until the item is accepted, its outcome is unknown and the call is
// not idempotent, or the retries are used up. An error means that the load must end: the context's, or one that no retry
// will change.
func (d *driver) deliver(ctx context.Context, path, key string, idempotent bool, body any) (became state, err error) {
	for attempt := 0; ; attempt++ {
		result, err := d.write(ctx, path, key, body)
		failed, _ := errors.AsType[*CallError](err)
		ambiguous := result.ambiguous() || failed != nil && failed.ambiguous
		switch {
		case result.accepted():
			return accepted, nil
		case ambiguous:
			became = unknown
		case err == nil && key != "":
			became = rejected // as were earlier attempts with this key
			key += "+"        // under the same key the API repeats its response
		}
		fatal := fatalError(ctx, err)
		if fatal != nil || ambiguous && !idempotent || attempt == d.Retries {
			return became, fatal
		}
		if err := pause(ctx, attempt, err); err != nil {
			return became, err
		}
		d.retried.Add(1)
	}
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
