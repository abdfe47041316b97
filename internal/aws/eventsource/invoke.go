package eventsource

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// shutdownGrace is how long an in-flight invocation and its checkpoint may still take after the mapping is stopped.
const shutdownGrace = 5 * time.Second

// invocationTimeout bounds an invocation.
const invocationTimeout = time.Minute

// outlastingContext returns a context that ends shutdownGrace after ctx. So an in-flight invocation can
// finish, as in Lambda; otherwise its records would be redelivered.
func outlastingContext(ctx context.Context) (context.Context, context.CancelFunc) {
	outlasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(shutdownGrace, cancel) })
	return outlasting, func() { stop(); cancel() }
}

var errReported = errors.New("the handler reported the first record as failed")

// invokeRecords invokes the handler with records and the open window, which may be nil. done is the number of leading
// records that are done, and state the window's state after them. failure is the reason if no record is done.
func (d *delivery) invokeRecords(ctx context.Context, records []Record, open *window) (done int, state []byte, failure error) {
	d.setPayload(records, open, false, false)
	out, err := d.invoke(ctx)
	if err != nil {
		return 0, nil, err
	}
	done, state, err = parseResponse(out, records, open != nil)
	if err == nil && done == 0 {
		err = errReported
	}
	return done, state, err
}

// invokeFinal ends a window with an invocation that has the window's state and no records. early reports that the state
// is too large. After the last failed attempt it logs the error.
func (d *delivery) invokeFinal(ctx context.Context, ended *window, early bool) error {
	for attempts := 1; ; attempts++ {
		d.setPayload(nil, ended, true, early)
		out, err := d.invoke(ctx)
		if err == nil {
			_, _, err = parseResponse(out, nil, true)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if attempts >= d.mapping.o.Attempts {
			d.logGivenUp(nil, fmt.Errorf("ending the window of %s: %w", ended.start.Format(time.RFC3339), err))
			return nil
		}
		if !dynamo.Pause(ctx, d.mapping.backOff(attempts-1)) {
			return ctx.Err()
		}
	}
}

// setPayload sets the event for the handler. w is its tumbling window, or nil.
func (d *delivery) setPayload(records []Record, w *window, final, early bool) {
	var fields *windowFields
	if w != nil {
		fields = &windowFields{window: w, shard: d.shard, arn: d.mapping.checkpoints.arn, final: final, early: early}
	}
	d.payload = appendPayload(d.payload[:0], records, fields)
}

// invoke invokes the handler with the payload, unless ctx has ended. The call outlasts ctx. A panic is a failure.
func (d *delivery) invoke(ctx context.Context) (out []byte, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(d.outlasting, invocationTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			d.mapping.o.Logger.Error("event source mapping: the handler panicked", "mapping", d.mapping.o.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return d.mapping.o.Handler.Invoke(ctx, d.payload)
}

// logGivenUp logs records that are given up; nil for the end of a window.
func (d *delivery) logGivenUp(records []Record, failure error) {
	var sequences []string
	for _, r := range records {
		sequences = append(sequences, r.Sequence)
	}
	d.mapping.o.Logger.Error("event source mapping: gave up records", "mapping", d.mapping.o.Name, "stream_shard", d.shard, "sequence_numbers", sequences, "error", failure)
}
