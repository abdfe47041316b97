package eventsource

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

var errReported = errors.New("the handler reported the first record as failed")

// part is a batch, or what is left of one, on its way to the handler.
type part struct {
	records  []entry
	attempts int // that have failed
}

// deliver hands a batch to the handler until each record is done or given up.
func (c *consumer) deliver(ctx context.Context, batch []entry) error {
	parts := []part{{records: batch}}
	for len(parts) > 0 {
		left, err := c.attempt(ctx, parts[0])
		if err != nil {
			return err
		}
		parts = append(left, parts[1:]...)
	}
	return nil
}

// attempt delivers a part once, and returns what is left of it, in order.
func (c *consumer) attempt(ctx context.Context, p part) ([]part, error) {
	if old := c.tooOld(p.records); old > 0 {
		err := c.giveUp(ctx, p.records[:old], FailureRequest{Condition: RecordTooOld, Attempts: p.attempts})
		if old == len(p.records) {
			return nil, err
		}
		return []part{{p.records[old:], p.attempts}}, err
	}
	done, state, failure := c.try(ctx, p.records)
	if failure != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if done > 0 {
		err := c.advance(ctx, p.records[:done], state)
		if done == len(p.records) {
			return nil, err
		}
		return []part{{records: p.records[done:]}}, err
	}
	return c.failed(ctx, p, failure)
}

// failed decides what becomes of a part of which nothing was done.
func (c *consumer) failed(ctx context.Context, p part, failure error) ([]part, error) {
	o := &c.m.o
	o.Logger.Warn("event source mapping: a batch failed", "mapping", o.Name, "stream_shard", c.shard,
		"records", len(p.records), "first", p.records[0].sequence, "attempt", p.attempts+1, "error", failure)
	if o.Bisect && len(p.records) > 1 {
		half := len(p.records) / 2
		return []part{{p.records[:half], p.attempts}, {p.records[half:], p.attempts}}, nil
	}
	p.attempts++
	if p.attempts >= o.Attempts {
		return nil, c.giveUp(ctx, p.records, FailureRequest{
			Condition: RetriesExhausted, Attempts: p.attempts, Error: failure.Error(),
		})
	}
	return []part{p}, sleep(ctx, c.m.backOff(p.attempts-1))
}

func (c *consumer) tooOld(records []entry) int {
	oldest := c.m.o.Now().Add(-c.m.o.MaxRecordAge)
	for i, e := range records {
		if !e.created.Before(oldest) {
			return i
		}
	}
	return len(records)
}

// try invokes the handler with records. done is how many of them, from the
// first, are done; failure says why it is none.
func (c *consumer) try(ctx context.Context, records []entry) (done int, state []byte, failure error) {
	c.payload = appendPayload(c.payload[:0], records, c.fields(false, false))
	out, err := c.invoke(ctx)
	if err != nil {
		return 0, nil, err
	}
	done, state, err = parseAnswer(out, records, c.cp.window != nil, c.m.o.PartialFailures)
	if err == nil && done == 0 {
		err = errReported
	}
	return done, state, err
}

func (c *consumer) fields(final, early bool) *windowFields {
	if c.cp.window == nil {
		return nil
	}
	return &windowFields{window: c.cp.window, shard: c.shard, arn: c.m.checkpoints.arn, final: final, early: early}
}

// endTime is what an invocation under way and its checkpoint are given when the mapping
// is stopped.
const endTime = 5 * time.Second

// outlasting is a context that goes on for endTime when ctx ends. As in Lambda an
// invocation goes on when no more are begun: cut off in between, its records would come
// again.
func outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(endTime, cancel) })
	return own, func() { stop(); cancel() }
}

// invoke hands the payload to the handler. As in Lambda, a panic is a failure.
func (c *consumer) invoke(ctx context.Context) (out []byte, err error) {
	release, err := c.m.o.Admit(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(c.own, c.m.o.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			c.m.o.Logger.Error("event source mapping: the handler panicked", "mapping", c.m.o.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the handler panicked: %v", p)
		}
	}()
	return c.m.o.Handler.Invoke(ctx, c.payload)
}

// advance notes that records are done, with the window's state after them. A
// state that is too large ends the window early; what follows starts a new one
// of the same time.
func (c *consumer) advance(ctx context.Context, records []entry, state []byte) error {
	c.cp.after = records[len(records)-1].sequence
	if w := c.cp.window; w != nil {
		w.state = state
		if len(state) > maxState {
			if err := c.finalInvoke(ctx, true); err != nil {
				return err
			}
			c.cp.window = &window{start: w.start, end: w.end, state: []byte(emptyState)}
		}
	}
	c.m.delivered.Add(int64(len(records)))
	return c.save()
}

// giveUp writes records to the failure file, and goes on behind them.
func (c *consumer) giveUp(ctx context.Context, records []entry, why FailureRequest) error {
	c.payload = appendPayload(c.payload[:0], records, c.fields(false, false))
	last := records[len(records)-1].sequence
	if err := c.writeFailure(why, FailureBatch{Size: len(records), First: records[0].sequence, Last: last}); err != nil {
		return err
	}
	c.cp.after = last
	c.m.givenUp.Add(int64(len(records)))
	return c.save()
}

func (c *consumer) writeFailure(why FailureRequest, batch FailureBatch) error {
	why.Mapping = c.m.o.Name
	batch.StreamARN, batch.ShardID = c.m.checkpoints.arn, c.shard
	c.m.o.Logger.Error("event source mapping: gave up a batch", "mapping", why.Mapping, "stream_shard", c.shard,
		"records", batch.Size, "why", why.Condition, "file", c.m.o.FailureFile)
	return appendFailure(c.m.o.FailureFile, Failure{
		Version: "1.0", Timestamp: c.m.o.Now().UTC(), RequestContext: why, BatchInfo: batch, Payload: c.payload,
	})
}

// finalInvoke ends the open window, if any, with an invocation that has its
// state and no records. It is not in the checkpoint yet.
func (c *consumer) finalInvoke(ctx context.Context, early bool) error {
	if c.cp.window == nil {
		return nil
	}
	for attempts := 1; ; attempts++ {
		c.payload = appendPayload(c.payload[:0], nil, c.fields(true, early))
		out, err := c.invoke(ctx)
		if err == nil {
			_, _, err = parseAnswer(out, nil, true, false)
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if attempts >= c.m.o.Attempts {
			why := FailureRequest{Condition: RetriesExhausted, Attempts: attempts, Error: err.Error()}
			c.payload = appendPayload(c.payload[:0], nil, c.fields(true, early)) // the handler may have changed it
			if err := c.writeFailure(why, FailureBatch{}); err != nil {
				return err
			}
			break
		}
		if err := sleep(ctx, c.m.backOff(attempts-1)); err != nil {
			return err
		}
	}
	c.cp.window = nil
	return nil
}

// save writes the checkpoint, however long the table is out of reach.
func (c *consumer) save() error {
	return c.m.retry(c.own, func() error { return c.m.checkpoints.save(c.own, c.shard, &c.cp) })
}
