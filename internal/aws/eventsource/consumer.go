package eventsource

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

const (
	// drainReads is the number of consecutive empty reads after which a drained stream shard counts as empty. The
	// engine shows a write after some milliseconds, on a busy machine after up to a second.
	drainReads = 8
	// idleReads is the number of consecutive empty reads after which the poll interval is
	// idlePoll: Lambda reads four times a second.
	idleReads = 20
	idlePoll  = 250 * time.Millisecond
)

// consumer reads one stream shard and delivers its records. It runs in one goroutine.
type consumer struct {
	mapping  *Mapping
	reader   Reader
	queue    queue
	delivery delivery
}

// run delivers records until ctx ends, and then returns its error. It returns true when the stream shard is closed and
// all its records are delivered. With drain it also returns, with false, when no record is left.
func (c *consumer) run(ctx context.Context, drain bool) (finished bool, err error) {
	outlasting, cancel := outlastingContext(ctx)
	defer cancel()
	c.delivery.outlasting = outlasting
	emptyReads := 0
	for {
		began := c.mapping.o.Now()
		number, closed, err := c.readAndDeliver(ctx, drain)
		if err != nil {
			return false, err
		}
		if closed {
			return true, c.delivery.finish(ctx)
		}
		emptyReads++
		if number > 0 {
			emptyReads = 0
		}
		queueEmpty := len(c.queue.entries) == 0
		if queueEmpty && number > 0 {
			continue // more records may follow at once
		}
		if queueEmpty {
			drained := drain && emptyReads >= drainReads
			if err := c.closeIdleWindow(ctx, began, drained); err != nil || drained {
				return false, err
			}
		}
		if !dynamo.Pause(ctx, c.pollPause(emptyReads)) {
			return false, ctx.Err()
		}
	}
}

// readAndDeliver reads the next records and returns their number. It delivers the queue if the queue makes a batch, if
// the stream shard is closed, or if drain is set and no record was read.
func (c *consumer) readAndDeliver(ctx context.Context, drain bool) (number int, closed bool, err error) {
	var records []Record
	err = c.mapping.retry(ctx, func() (err error) {
		records, closed, err = c.reader.Next(ctx, c.mapping.o.BatchSize-len(c.queue.entries))
		return err
	})
	if err != nil {
		return 0, false, err
	}
	c.queue.add(records, c.mapping.o.Now())
	noMoreExpected := closed || (drain && len(records) == 0)
	if noMoreExpected || c.queue.isDue(&c.mapping.o) {
		err = c.flush(ctx)
	}
	return len(records), closed, err
}

// flush delivers the whole queue in one or more batches.
func (c *consumer) flush(ctx context.Context) error {
	for len(c.queue.entries) > 0 {
		if err := c.delivery.openWindowAt(ctx, c.queue.entries[0].Created); err != nil {
			return err
		}
		batch := c.queue.nextBatch(c.delivery.cp.window)
		if err := c.delivery.deliver(ctx, batch); err != nil {
			return err
		}
		c.queue.entries = c.queue.entries[len(batch):]
	}
	c.queue = queue{}
	return nil
}

// closeIdleWindow closes the open window if it ended IdleWindow before now, or if the stream shard is drained.
func (c *consumer) closeIdleWindow(ctx context.Context, now time.Time, drained bool) error {
	w := c.delivery.cp.window
	if w == nil {
		return nil
	}
	if drained || !now.Before(w.end.Add(c.mapping.o.IdleWindow)) {
		return c.delivery.closeWindow(ctx)
	}
	return nil
}

func (c *consumer) pollPause(emptyReads int) time.Duration {
	if emptyReads >= idleReads {
		return max(idlePoll, c.mapping.o.PollInterval)
	}
	return c.mapping.o.PollInterval
}
