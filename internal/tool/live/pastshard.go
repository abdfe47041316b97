package live

import (
	"context"
	"maps"
	"time"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
)

// pastShard reads the past of one stream shard.
type pastShard struct {
	r           *pastReader
	id          string
	cursor      *eventsource.Cursor
	buffer      eventsource.Buffer
	polled      time.Time // the last call
	minuteTimes bool      // whether records' times are truncated to the minute

	from, to time.Time // the time that was read, without a gap
	open     openWindows
}

// newShard returns a pastShard that has read nothing.
func (r *pastReader) newShard(shard eventsource.Shard) *pastShard {
	return &pastShard{r: r, id: shard.ID, cursor: r.stream.Cursor(shard.ID, eventsource.TrimHorizon), open: openWindows{}}
}

// covers reports whether the window of this start was read.
func (s *pastShard) covers(start time.Time) bool {
	return !s.from.After(start) && !s.to.Before(start.Add(Window))
}

// takeCounts returns the counts of a window, or nil if it has no records. It drops this window and earlier ones.
func (s *pastShard) takeCounts(start time.Time) *heat.WindowCounter {
	counts := s.open[start.Unix()]
	maps.DeleteFunc(s.open, func(unix int64, _ *heat.WindowCounter) bool { return unix <= start.Unix() })
	return counts
}

// maxEmptyPages is the number of consecutive pages without records after which the stream shard counts as read to its end.
const maxEmptyPages = 10

// read reads until the end of the window of this start. It seeks to the start if needed.
func (s *pastShard) read(ctx context.Context, start time.Time) error {
	if s.to.Before(start) {
		s.seek(start)
	}
	for emptyPages := 0; !s.covers(start); {
		page, err := s.pollPage(ctx)
		if err != nil {
			s.from, s.to = time.Time{}, time.Time{} // the next window begins with a seek
			return err
		}
		s.count(page.Records)
		s.buffer.Release()
		emptyPages++
		if len(page.Records) > 0 {
			emptyPages = 0
		}
		if page.Closed || emptyPages == maxEmptyPages { // there are no more records
			s.to = s.r.past.To
		}
	}
	return nil
}

// seek drops all counts, and moves the cursor to a time. If the service can't seek to a time, the cursor stays.
func (s *pastShard) seek(start time.Time) {
	clear(s.open)
	s.from, s.to = start, start
	if s.r.seeks {
		s.cursor.Seek(eventsource.AtTimestamp(start))
	}
}

// pollPage calls GetRecords, with retries, at least pollInterval after the last call. The engine is called at once.
func (s *pastShard) pollPage(ctx context.Context) (page eventsource.Page, err error) {
	pause := pollInterval
	if s.r.stream.IsEngine() { // it has no other readers to protect
		pause = 0
	}
	err = s.r.link.retry(ctx, s.id, retryTimeout, func() error {
		if !dynamo.Pause(ctx, time.Until(s.polled.Add(pause))) {
			return ctx.Err()
		}
		if _, err := s.cursor.Locate(ctx); err != nil {
			return err
		}
		s.polled = time.Now()
		page, err = s.cursor.Next(ctx, &s.buffer, eventsource.MaxRecords)
		return err
	})
	return page, err
}

// count counts records in their windows, and sets s.to to the newest record's time, truncated to the times' precision.
func (s *pastShard) count(records []ddbstream.Record) {
	precision := time.Second
	records = s.r.stream.DropEmptyDeletes(records)
	truncated := s.minuteTimes || !s.r.seeks || haveMinuteTimes(records)
	if truncated && !s.r.stream.Exact() {
		precision, s.minuteTimes = time.Minute, true
		stampEach(records, spreadOverMinute(s.polled))
	}
	for write := range heat.DecodeWrites(records, s.r.o.Found.Source) {
		if write.At.IsZero() {
			s.open.missUndated(&write)
			continue
		}
		s.to = later(s.to, write.At.Truncate(precision))
		if start := write.At.UTC().Truncate(Window); !start.Before(s.from) { // earlier windows are not read
			s.open.count(&write, start)
		}
	}
}
