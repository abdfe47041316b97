package eventsource

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// delivery delivers the records of one stream shard to the handler, in order, until each is done or
// given up. It saves its progress and the open window in the checkpoint.
type delivery struct {
	m       *Mapping
	shard   string
	own     context.Context // of invocations and checkpoints; outlasts the context of Run
	payload []byte          // reused: a handler must not keep it
	cp      checkpoint
}

// part is a batch, or the rest of one, that is still to be delivered.
type part struct {
	records  []Record
	attempts int // failed deliveries
}

// deliver delivers a batch to the handler until each record is done or given up.
func (d *delivery) deliver(ctx context.Context, batch []Record) error {
	parts := []part{{records: batch}}
	for len(parts) > 0 {
		left, err := d.attempt(ctx, parts[0])
		if err != nil {
			return err
		}
		parts = append(left, parts[1:]...)
	}
	return nil
}

// attempt delivers a part once, and returns the rest of it, in order.
func (d *delivery) attempt(ctx context.Context, p part) ([]part, error) {
	done, state, failure := d.invokeRecords(ctx, p.records, d.cp.window)
	if failure != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if done > 0 {
		err := d.advance(ctx, p.records[:done], state)
		if done == len(p.records) {
			return nil, err
		}
		return []part{{records: p.records[done:]}}, err
	}
	return d.afterFailure(ctx, p, failure)
}

// afterFailure returns what to deliver next after a part failed as a whole.
func (d *delivery) afterFailure(ctx context.Context, p part, failure error) ([]part, error) {
	m := d.m
	m.o.Logger.Warn("event source mapping: a batch failed", "mapping", m.o.Name, "stream_shard", d.shard,
		"records", len(p.records), "first", p.records[0].Sequence, "attempt", p.attempts+1, "error", failure)
	if m.o.Bisect && len(p.records) > 1 {
		half := len(p.records) / 2
		return []part{{p.records[:half], p.attempts}, {p.records[half:], p.attempts}}, nil
	}
	p.attempts++
	if p.attempts >= m.o.Attempts {
		return nil, d.giveUp(p, failure)
	}
	dynamo.Pause(ctx, m.backOff(p.attempts-1))
	return []part{p}, ctx.Err()
}

// advance saves a checkpoint after these records, with the window's state. A state that is too large
// ends the window early, and the following records start a new window of the same time.
func (d *delivery) advance(ctx context.Context, records []Record, state []byte) error {
	d.cp.after = records[len(records)-1].Sequence
	if w := d.cp.window; w != nil {
		w.state = state
		if len(state) > maxState {
			if err := d.invokeFinal(ctx, w, true); err != nil {
				return err
			}
			d.cp.window = &window{start: w.start, end: w.end, state: []byte(emptyState)}
		}
	}
	return d.save()
}

// giveUp writes records to the failure file, and continues after them.
func (d *delivery) giveUp(p part, failure error) error {
	n := len(p.records)
	d.setPayload(p.records, d.cp.window, false, false)
	if err := d.addFailure(n, p.attempts, failure); err != nil {
		return err
	}
	d.cp.after = p.records[n-1].Sequence
	d.m.givenUp.Add(int64(n))
	return d.save()
}

// openWindow opens the window of a record created at t, and ends the previous window. A late record
// belongs to the open window.
func (d *delivery) openWindow(ctx context.Context, t time.Time) error {
	width := d.m.o.TumblingWindow
	if w := d.cp.window; w != nil && (width == 0 || !t.Before(w.end)) {
		if err := d.closeWindow(ctx); err != nil {
			return err
		}
	}
	if width > 0 && d.cp.window == nil {
		d.cp.window = windowAt(t, width)
	}
	return nil
}

// closeWindow ends the open window, if there is one, and saves the checkpoint.
func (d *delivery) closeWindow(ctx context.Context) error {
	if err := d.endWindow(ctx); err != nil {
		return err
	}
	return d.save()
}

// endWindow ends the open window, if there is one. The caller saves the checkpoint.
func (d *delivery) endWindow(ctx context.Context) error {
	if d.cp.window != nil {
		if err := d.invokeFinal(ctx, d.cp.window, false); err != nil {
			return err
		}
		d.cp.window = nil
	}
	return nil
}

// finish ends a closed stream shard and its window: the children begin with a new window.
func (d *delivery) finish(ctx context.Context) error {
	if err := d.endWindow(ctx); err != nil {
		return err
	}
	d.cp.finished = true
	return d.save()
}

// save writes the checkpoint, and waits as long as the table is unreachable.
func (d *delivery) save() error {
	return d.m.retry(d.own, func() error { return d.m.checkpoints.save(d.own, d.shard, &d.cp) })
}
