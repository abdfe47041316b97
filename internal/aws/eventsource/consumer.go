package eventsource

import (
	"context"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

const (
	// drainReads is the number of consecutive empty reads after which a drained stream
	// shard counts as empty. The engine shows a write after some milliseconds, on a busy
	// machine after up to a second.
	drainReads = 8
	// idleReads is the number of consecutive empty reads after which the poll interval is
	// idlePoll: Lambda reads four times a second.
	idleReads = 20
	idlePoll  = 250 * time.Millisecond
)

// consumer reads one stream shard and delivers its records. It runs in one goroutine.
type consumer struct {
	m        *Mapping
	reader   Reader
	queue    queue
	delivery delivery
}

// run delivers records until ctx ends. It also returns when the stream shard is closed and all
// its records are delivered (finished), and with drain when no record is left.
func (c *consumer) run(ctx context.Context, drain bool) (finished bool, err error) {
	own, end := outlasting(ctx)
	defer end()
	c.delivery.own = own
	empty := 0
	for {
		began := c.m.o.Now()
		n, closed, err := c.readRecords(ctx)
		if err != nil {
			return false, err
		}
		if closed || drain && n == 0 || c.queue.due(&c.m.o) {
			if err := c.flush(ctx); err != nil {
				return false, err
			}
		}
		if closed {
			return true, c.delivery.finish(ctx)
		}
		empty++
		if n > 0 {
			empty = 0
		}
		if len(c.queue.entries) == 0 {
			if n > 0 {
				continue
			}
			drained := drain && empty >= drainReads
			if err := c.idle(ctx, began, drained); err != nil || drained {
				return false, err
			}
		}
		if !dynamo.Pause(ctx, c.pause(empty)) {
			return false, ctx.Err()
		}
	}
}

// readRecords appends the next records to the queue.
func (c *consumer) readRecords(ctx context.Context) (n int, closed bool, err error) {
	var records []Record
	err = c.m.retry(ctx, func() (err error) {
		records, closed, err = c.reader.Next(ctx, c.m.o.BatchSize-len(c.queue.entries))
		return err
	})
	if err != nil {
		return 0, false, err
	}
	c.queue.add(records, c.m.o.Now())
	return len(records), closed, nil
}

// flush delivers the whole queue in one or more batches.
func (c *consumer) flush(ctx context.Context) error {
	for len(c.queue.entries) > 0 {
		if err := c.delivery.openWindow(ctx, c.queue.entries[0].Created); err != nil {
			return err
		}
		batch := c.queue.batch(c.delivery.cp.window)
		if err := c.delivery.deliver(ctx, batch); err != nil {
			return err
		}
		c.queue.entries = c.queue.entries[len(batch):]
	}
	c.queue = queue{}
	return nil
}

// idle ends a window that was over IdleWindow ago, or with drained any.
func (c *consumer) idle(ctx context.Context, at time.Time, drained bool) error {
	w := c.delivery.cp.window
	if w != nil && (drained || !at.Before(w.end.Add(c.m.o.IdleWindow))) {
		return c.delivery.closeWindow(ctx)
	}
	return nil
}

func (c *consumer) pause(empty int) time.Duration {
	if empty >= idleReads {
		return max(idlePoll, c.m.o.PollInterval)
	}
	return c.m.o.PollInterval
}
