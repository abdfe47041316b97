package live

import (
	"context"
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
	polled      time.Time
	minuteTimes bool // records had the times of minutes

	from, to time.Time // the time that was read without a gap
	open     openWindows
}

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
	for at := range s.open {
		if at <= start.Unix() {
			delete(s.open, at)
		}
	}
	return counts
}

// quietPages is how many consecutive pages without records end the reading.
const quietPages = 10

// read reads until the end of a window. A page of records reaches to the time of its last record.
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
		if page.Closed || emptyPages == quietPages { // there are no more records
			s.to = s.r.past.To
		}
	}
	return nil
}

// seek moves to a time, or to the oldest record if the service can't.
func (s *pastShard) seek(start time.Time) {
	clear(s.open)
	s.from, s.to = start, start
	if s.r.seeks {
		s.cursor.Seek(eventsource.AtTimestamp(start))
	}
}

// pollPage calls GetRecords, with retries.
func (s *pastShard) pollPage(ctx context.Context) (page eventsource.Page, err error) {
	pause := pollInterval
	if s.r.stream.IsEngine() { // it has no other readers to protect
		pause = 0
	}
	err = s.r.link.persist(ctx, s.id, retryTime, func() error {
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

// count counts records in their windows.
func (s *pastShard) count(records []ddbstream.Record) {
	precision := time.Second
	records = s.r.stream.DropEmptyDeletes(records)
	truncated := s.minuteTimes || !s.r.seeks || haveMinuteTimes(records)
	if truncated && !s.r.stream.Exact() {
		precision, s.minuteTimes = time.Minute, true
		stampEach(records, spreadOverMinute(s.polled))
	}
	for w := range heat.DecodeWrites(records, s.r.o.Found.Source) {
		if w.At.IsZero() {
			s.open.addUndated(&w)
			continue
		}
		s.to = later(s.to, w.At.Truncate(precision))
		if start := w.At.UTC().Truncate(Window); !start.Before(s.from) { // counts of earlier windows were taken
			s.open.count(&w, start)
		}
	}
}
