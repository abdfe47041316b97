package eventsource

import (
	"context"
	"time"
)

// delivery takes the records of one stream shard to the handler, in order, until each is done
// or given up. It notes in the checkpoint how far it has come, and which window is open.
type delivery struct {
	handler invoker
	cp      checkpoint
}

// part is a batch, or what is left of one, on its way to the handler.
type part struct {
	records  []entry
	attempts int // that have failed
}

// deliver hands a batch to the handler until each record is done or given up.
func (d *delivery) deliver(ctx context.Context, batch []entry) error {
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

// attempt delivers a part once, and returns what is left of it, in order.
func (d *delivery) attempt(ctx context.Context, p part) ([]part, error) {
	if old := d.tooOld(p.records); old > 0 {
		err := d.giveUp(p.records[:old], FailureRequest{Condition: RecordTooOld, Attempts: p.attempts})
		if old == len(p.records) {
			return nil, err
		}
		return []part{{p.records[old:], p.attempts}}, err
	}
	done, state, failure := d.handler.records(ctx, p.records, d.cp.window)
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
	return d.failed(ctx, p, failure)
}

// failed decides what becomes of a part of which nothing was done.
func (d *delivery) failed(ctx context.Context, p part, failure error) ([]part, error) {
	m := d.handler.m
	m.o.Logger.Warn("event source mapping: a batch failed", "mapping", m.o.Name, "stream_shard", d.handler.shard,
		"records", len(p.records), "first", p.records[0].sequence, "attempt", p.attempts+1, "error", failure)
	if m.o.Bisect && len(p.records) > 1 {
		half := len(p.records) / 2
		return []part{{p.records[:half], p.attempts}, {p.records[half:], p.attempts}}, nil
	}
	p.attempts++
	if p.attempts >= m.o.Attempts {
		return nil, d.giveUp(p.records, FailureRequest{
			Condition: RetriesExhausted, Attempts: p.attempts, Error: failure.Error(),
		})
	}
	return []part{p}, sleep(ctx, m.backOff(p.attempts-1))
}

// tooOld is how many records, from the first, are too old to be delivered.
func (d *delivery) tooOld(records []entry) int {
	o := &d.handler.m.o
	oldest := o.Now().Add(-o.MaxRecordAge)
	for i, e := range records {
		if !e.created.Before(oldest) {
			return i
		}
	}
	return len(records)
}

// advance notes that records are done, with the window's state after them. A
// state that is too large ends the window early; what follows starts a new one
// of the same time.
func (d *delivery) advance(ctx context.Context, records []entry, state []byte) error {
	d.cp.after = records[len(records)-1].sequence
	if w := d.cp.window; w != nil {
		w.state = state
		if len(state) > maxState {
			if err := d.handler.final(ctx, w, true); err != nil {
				return err
			}
			d.cp.window = &window{start: w.start, end: w.end, state: []byte(emptyState)}
		}
	}
	d.handler.m.delivered.Add(int64(len(records)))
	return d.save()
}

// giveUp writes records to the failure file, and goes on behind them.
func (d *delivery) giveUp(records []entry, why FailureRequest) error {
	last := records[len(records)-1].sequence
	d.handler.encode(records, d.cp.window, false, false)
	if err := d.handler.giveUp(why, FailureBatch{Size: len(records), First: records[0].sequence, Last: last}); err != nil {
		return err
	}
	d.cp.after = last
	d.handler.m.givenUp.Add(int64(len(records)))
	return d.save()
}

// openWindow opens the window of a record created at t, and ends the one before
// it. A record that comes late counts to the open one.
func (d *delivery) openWindow(ctx context.Context, t time.Time) error {
	width := d.handler.m.o.TumblingWindow
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

// closeWindow ends the window that is open, if one is.
func (d *delivery) closeWindow(ctx context.Context) error {
	if err := d.endWindow(ctx); err != nil {
		return err
	}
	return d.save()
}

// endWindow is closeWindow before it is saved.
func (d *delivery) endWindow(ctx context.Context) error {
	if d.cp.window != nil {
		if err := d.handler.final(ctx, d.cp.window, false); err != nil {
			return err
		}
		d.cp.window = nil
	}
	return nil
}

// finish ends a closed stream shard. Its window ends with it: children begin
// with a new one.
func (d *delivery) finish(ctx context.Context) error {
	if err := d.endWindow(ctx); err != nil {
		return err
	}
	d.cp.finished = true
	return d.save()
}

// save writes the checkpoint, however long the table is out of reach.
func (d *delivery) save() error {
	m, own := d.handler.m, d.handler.own
	return m.retry(own, func() error { return m.checkpoints.save(own, d.handler.shard, &d.cp) })
}
