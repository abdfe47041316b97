package eventsource

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// delivery delivers the records of one stream shard to the handler, in order, until each is processed or given up. It
// saves its progress and the open window in the checkpoint.
type delivery struct {
	mapping    *Mapping
	shard      string
	outlasting context.Context // of invocations and checkpoints; outlasts the context of Run
	payload    []byte          // reused: a handler must not keep it
	cp         *checkpoint
}

// pendingBatch has records of a batch that are still to be delivered.
type pendingBatch struct {
	records  []Record
	attempts int // failed deliveries
}

// deliver delivers a batch to the handler until each record is processed or given up.
func (d *delivery) deliver(ctx context.Context, batch []Record) error {
	pending := []pendingBatch{{records: batch}}
	for len(pending) > 0 {
		rest, err := d.deliverOnce(ctx, pending[0])
		if err != nil {
			return err
		}
		pending = append(rest, pending[1:]...)
	}
	return nil
}

// deliverOnce delivers records once, and returns those still to be delivered, in order; after progress with 0 attempts.
func (d *delivery) deliverOnce(ctx context.Context, batch pendingBatch) ([]pendingBatch, error) {
	done, state, failure := d.invokeRecords(ctx, batch.records, d.cp.window)
	if failure != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if done > 0 {
		err := d.advance(ctx, batch.records[:done], state)
		if done == len(batch.records) {
			return nil, err
		}
		return []pendingBatch{{records: batch.records[done:]}}, err
	}
	return d.retryOrSplit(ctx, batch, failure)
}

// retryOrSplit returns what to deliver next after all records failed: both halves, with the same attempts, if there are
// several; or else the record again after a pause, or nothing if it is given up.
func (d *delivery) retryOrSplit(ctx context.Context, batch pendingBatch, failure error) ([]pendingBatch, error) {
	m := d.mapping
	m.o.Logger.Warn("event source mapping: a batch failed", "mapping", m.o.Name, "stream_shard", d.shard,
		"records", len(batch.records), "first", batch.records[0].Sequence, "attempt", batch.attempts+1, "error", failure)
	if len(batch.records) > 1 {
		half := len(batch.records) / 2
		return []pendingBatch{{batch.records[:half], batch.attempts}, {batch.records[half:], batch.attempts}}, nil
	}
	batch.attempts++
	if batch.attempts >= m.o.Attempts {
		return nil, d.giveUp(batch.records, failure)
	}
	dynamo.Pause(ctx, m.backOff(batch.attempts-1))
	return []pendingBatch{batch}, ctx.Err()
}

// advance saves a checkpoint after these records, with the window's state. A state of more than maxState bytes ends the
// window early, and the following records start a new window of the same time.
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

// giveUp logs records, and continues after them.
func (d *delivery) giveUp(records []Record, failure error) error {
	d.logGivenUp(records, failure)
	d.cp.after = records[len(records)-1].Sequence
	d.mapping.givenUp.Add(int64(len(records)))
	return d.save()
}

// openWindowAt ends the open window if created is not before its end, and opens the window of created if none is open.
// So a late record belongs to the open window. Without TumblingWindow, openWindowAt ends any window and opens none.
func (d *delivery) openWindowAt(ctx context.Context, created time.Time) error {
	width := d.mapping.o.TumblingWindow
	if w := d.cp.window; w != nil && (width == 0 || !created.Before(w.end)) {
		if err := d.closeWindow(ctx); err != nil {
			return err
		}
	}
	if width > 0 && d.cp.window == nil {
		d.cp.window = windowAt(created, width)
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

// save writes the checkpoint. It repeats failed writes until d.outlasting ends, some time after Run's context.
func (d *delivery) save() error {
	return d.mapping.retry(d.outlasting, func() error { return d.mapping.checkpoints.save(d.outlasting, d.shard, d.cp) })
}
