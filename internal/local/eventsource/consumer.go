package eventsource

import (
	"context"
	"sync/atomic"
	"time"
)

const (
	// drainReads is how many reads in a row must find nothing before a drained
	// stream shard counts as empty: the engine shows a write some milliseconds
	// late, on a busy machine up to a second.
	drainReads = 8
	// idleReads is how many reads must find nothing before polling slows down,
	// by idleFactor.
	idleReads  = 50
	idleFactor = 5
	// payloadRoom is left in a payload for what is not records, in bytes.
	payloadRoom = 4 << 10
)

// consumer delivers the records of one stream shard. It is one goroutine.
type consumer struct {
	m      *Mapping
	shard  string
	reader Reader
	cp     checkpoint
	own    context.Context // of invocations and checkpoints, which outlasts run's

	queue       []entry   // read, but not delivered
	queueBytes  int       // their JSON
	queuedSince time.Time // when the first of them was read
	payload     []byte    // reused: a handler may not keep it

	caughtUp atomic.Int64 // Unix nanoseconds; 0 for never
	reached  atomic.Int64 // likewise: of the newest record delivered, or of the stream shard's being empty
}

func (c *consumer) caughtUpAt() time.Time { return timeOf(&c.caughtUp) }

func (c *consumer) reachedAt() time.Time { return timeOf(&c.reached) }

func timeOf(nanoseconds *atomic.Int64) time.Time {
	if at := nanoseconds.Load(); at != 0 {
		return time.Unix(0, at).UTC()
	}
	return time.Time{}
}

// run delivers until ctx ends, the stream shard is closed and done (finished),
// or, when draining, nothing is left.
func (c *consumer) run(ctx context.Context, drain bool) (finished bool, err error) {
	var end context.CancelFunc
	c.own, end = outlasting(ctx)
	defer end()
	empty := 0
	for {
		began := c.m.o.Now()
		n, closed, err := c.read(ctx)
		if err != nil {
			return false, err
		}
		if closed || drain && n == 0 || c.due() {
			if err := c.flush(ctx); err != nil {
				return false, err
			}
		}
		if closed {
			return true, c.finish(ctx)
		}
		if n > 0 {
			empty = 0
			if len(c.queue) == 0 {
				continue
			}
		} else if empty++; len(c.queue) == 0 {
			if err := c.idle(ctx, began, drain && empty >= drainReads); err != nil {
				return false, err
			}
			if drain && empty >= drainReads {
				return false, nil
			}
		}
		if err := sleep(ctx, c.pause(empty)); err != nil {
			return false, err
		}
	}
}

// read appends the next records to the queue.
func (c *consumer) read(ctx context.Context) (n int, closed bool, err error) {
	var records []Record
	err = c.m.retry(ctx, func() (err error) {
		records, closed, err = c.reader.Next(ctx, c.m.o.BatchSize-len(c.queue))
		return err
	})
	if err != nil {
		return 0, false, err
	}
	if len(c.queue) == 0 && len(records) > 0 {
		c.queuedSince = c.m.o.Now()
	}
	for _, r := range records {
		e := entry{sequence: r.Sequence(), created: r.Created, json: appendRecord(nil, r, c.m.checkpoints.arn)}
		c.queue = append(c.queue, e)
		c.queueBytes += len(e.json)
	}
	return len(records), closed, nil
}

// due says that the queue makes a batch.
func (c *consumer) due() bool {
	o := &c.m.o
	return len(c.queue) >= o.BatchSize || c.queueBytes >= maxPayload ||
		len(c.queue) > 0 && o.Now().Sub(c.queuedSince) >= o.BatchingWindow
}

// idle notes that the stream shard was empty, and ends a window that is over.
func (c *consumer) idle(ctx context.Context, at time.Time, drained bool) error {
	w := c.cp.window
	if w != nil && (drained || !at.Before(w.end.Add(c.m.o.WindowGrace))) {
		if err := c.closeWindow(ctx); err != nil {
			return err
		}
	}
	c.caughtUp.Store(at.UnixNano())
	c.reached.Store(at.UnixNano())
	return nil
}

func (c *consumer) pause(empty int) time.Duration {
	if empty >= idleReads {
		return idleFactor * c.m.o.PollInterval
	}
	return c.m.o.PollInterval
}

// flush delivers the whole queue, in as many batches as it takes.
func (c *consumer) flush(ctx context.Context) error {
	for len(c.queue) > 0 {
		if err := c.openWindow(ctx, c.queue[0].created); err != nil {
			return err
		}
		n := c.batchLen()
		if err := c.deliver(ctx, c.queue[:n]); err != nil {
			return err
		}
		c.reached.Store(c.queue[n-1].created.UnixNano())
		c.queue = c.queue[n:]
	}
	c.queue, c.queueBytes = nil, 0
	return nil
}

// openWindow opens the window of a record created at t, and ends the one before
// it. A record that comes late counts to the open one.
func (c *consumer) openWindow(ctx context.Context, t time.Time) error {
	width := c.m.o.TumblingWindow
	if w := c.cp.window; w != nil && (width == 0 || !t.Before(w.end)) {
		if err := c.closeWindow(ctx); err != nil {
			return err
		}
	}
	if width > 0 && c.cp.window == nil {
		c.cp.window = windowAt(t, width)
	}
	return nil
}

// batchLen is how many records at the queue's head go into one batch: those of
// one window that fit into a payload, and at least one.
func (c *consumer) batchLen() int {
	room := maxPayload - payloadRoom
	if w := c.cp.window; w != nil {
		room -= len(w.state)
	}
	for i, e := range c.queue {
		room -= len(e.json) + 1
		past := c.cp.window != nil && !e.created.Before(c.cp.window.end)
		if i > 0 && (past || room < 0) {
			return i
		}
	}
	return len(c.queue)
}

// finish ends a closed stream shard. Its window ends with it: children begin
// with a new one.
func (c *consumer) finish(ctx context.Context) error {
	if err := c.finalInvoke(ctx, false); err != nil {
		return err
	}
	c.cp.finished = true
	return c.save()
}

func (c *consumer) closeWindow(ctx context.Context) error {
	if err := c.finalInvoke(ctx, false); err != nil {
		return err
	}
	return c.save()
}
