package live

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// Times of reading a stream shard.
const (
	pollInterval = time.Second         // least time between two polls: another reader needs its share
	grace        = 3 * time.Second / 2 // how long after its end a window is delivered, since records come late
	maxLag       = 5 * time.Second     // a poll lags if its newest record is older
	maxLagPolls  = 3                   // at so many lagPolls the reader jumps to the end
)

// shard reads a stream shard.
type shard struct {
	r        *Reader
	stream   *stream
	id       string
	counter  *shardCounter
	cursor   *eventsource.Cursor
	polled   time.Time // the last call
	lastPage time.Time // the service's time of the last page

	retry *backoff.ExponentialBackOff
	wait  time.Duration // before the next call after a failure; else 0

	full     bool          // whether the last page was full
	lagPolls int           // polls that lagged and didn't catch up, since the last poll that didn't lag
	lag      time.Duration // of the newest record at the last poll
}

// newShard returns a shard that has not begun to read: from startAtEnd's position, or else from its oldest record.
func (s *stream) newShard(id string) *shard {
	cursor := s.cursors[id]
	delete(s.cursors, id)
	if cursor == nil {
		cursor = s.Cursor(id, eventsource.TrimHorizon)
	}
	return &shard{r: s.r, stream: s, id: id, counter: s.r.windows.startCounting(id), cursor: cursor, retry: eventsource.NewBackOff()}
}

// run polls until the stream shard's end, and returns the time until which it was read. Errors are permanent, or ctx's.
func (s *shard) run(ctx context.Context) (readUntil time.Time, err error) {
	s.lastPage = time.Now()
	for dynamo.Pause(ctx, time.Until(s.polled.Add(s.pause()))) {
		closed, err := s.pollOnce(ctx)
		if err != nil {
			return time.Time{}, err
		}
		if closed {
			s.counter.finish()
			return s.counter.readUntil(), nil
		}
	}
	return time.Time{}, ctx.Err()
}

// pause returns the time until the next poll. After a full page DynamoDB Local is polled at once: it has one stream shard for
// each table, and no other readers to protect.
func (s *shard) pause() time.Duration {
	switch {
	case s.wait > 0:
		return max(s.wait, pollInterval)
	case s.full && s.stream.IsEngine():
		return 0
	}
	return pollInterval
}

// pollOnce calls GetRecords once and counts the records. It counts only whole responses, and a failed call
// does not move the cursor. So no record is counted twice.
func (s *shard) pollOnce(ctx context.Context) (closed bool, err error) {
	var buffer *eventsource.Buffer
	select {
	case buffer = <-s.r.buffers:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { s.r.buffers <- buffer }()
	defer buffer.Release()
	s.polled = time.Now()
	if err := s.locate(ctx); err != nil {
		return false, s.handleError(ctx, err)
	}
	page, err := s.cursor.Next(ctx, buffer, eventsource.MaxRecords)
	if err != nil {
		return false, s.handleError(ctx, err)
	}
	s.retry.Reset()
	s.wait = 0
	s.r.link.noteSuccess(s.id)
	if page.Made.IsZero() { // the stream shard was read to its end before
		return true, nil
	}
	s.countPage(page)
	return page.Closed, nil
}

// locate requests an iterator if there is none. An iterator at the stream shard's end skips records, which become a gap.
func (s *shard) locate(ctx context.Context) error {
	if s.cursor.Located() {
		return nil
	}
	ended, err := s.cursor.Locate(ctx)
	if err != nil {
		return err
	}
	if s.cursor.Position() == eventsource.Latest {
		s.counter.skipTo(s.stream.Now())
		if !ended {
			s.lagPolls, s.lag, s.lastPage = 0, 0, time.Now()
		}
	}
	s.polled = time.Now()
	return nil
}

// handleError returns a call's error unless the next poll may succeed. If the next records have expired, it jumps to the end.
func (s *shard) handleError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if eventsource.IsTrimmed(err) {
		if s.cursor.HasRead() { // it is a day behind
			s.jumpToEnd()
		}
		return nil
	}
	if !eventsource.IsTransient(err) {
		return err
	}
	s.wait = s.retry.NextBackOff()
	s.r.link.noteFailure(s.id, err)
	return nil
}

// countPage counts a poll's records, and checks that the reader keeps up.
func (s *shard) countPage(page eventsource.Page) {
	s.full = page.Full
	records := s.stream.DropEmptyDeletes(page.Records)
	if !s.stream.Exact() {
		stampEach(records, spreadSincePoll(s.lastPage, page.Made, len(records)))
	}
	s.lastPage = later(s.lastPage, page.Made)
	s.counter.countWrites(heat.DecodeWrites(records, s.r.o.Found.Source))
	s.keepUp(page.AsOf, len(page.Records) > 0)
}

// keepUp records until when the stream shard was read: asOf is the service's time of the page. It jumps to the end
// after maxLagPolls polls that lagged and didn't catch up, if no poll in between was within maxLag.
func (s *shard) keepUp(asOf time.Time, hasRecords bool) {
	lagBefore := s.lag
	s.lag = 0
	if hasRecords {
		s.lag = asOf.Sub(s.counter.newest)
	}
	readTo := s.counter.newest
	if s.lag <= grace {
		readTo = asOf
	}
	s.counter.advanceTo(readTo)
	catchesUp := s.lag <= lagBefore-pollInterval
	switch {
	case s.lag <= maxLag:
		s.lagPolls = 0
	case !catchesUp:
		s.lagPolls++
		if s.lagPolls >= maxLagPolls {
			s.jumpToEnd()
		}
	}
}

// jumpToEnd continues at the stream shard's end. The skipped time is a gap.
func (s *shard) jumpToEnd() { s.cursor.Seek(eventsource.Latest) }
