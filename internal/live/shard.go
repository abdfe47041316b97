package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat/count"
)

// Times of reading a stream shard.
const (
	pollInterval = time.Second         // between two polls, at least: another reader needs its share
	grace        = 3 * time.Second / 2 // so long after its end a window is over: records come that late
	lagging      = 5 * time.Second     // a poll's newest record is so old: the reader is behind
	farBehind    = time.Minute         // and can't come up any more
	patience     = 30 * time.Second    // so long may polls fail, one after the other
	historyTime  = 30 * time.Second    // so long may it take to read what was before now
)

const (
	maxStrikes = 3 // polls that lag and don't come closer; then the reader jumps ahead
	emptyPages = 3 // so many in a row, and there is no history left
)

// shard reads a stream shard.
type shard struct {
	r        *Reader
	id       string
	counting *counting
	from     place
	iterator string    // "" when one is to be asked for
	after    string    // the last record's sequence number
	began    time.Time // to read
	polled   time.Time // the last call
	failing  time.Time // since when no poll is answered; zero if the last one was

	live    bool          // it reads what is written now, not what was before
	full    bool          // the last page had as many records as fit
	empty   int           // pages in a row
	strikes int           // polls in a row that lag and don't come closer
	lag     time.Duration // of the newest record at the last poll
}

// newShard has an iterator already, or "". Its counting begins now.
func (r *Reader) newShard(id string, from place, iterator string) *shard {
	return &shard{r: r, id: id, counting: r.windows.add(id), from: from, iterator: iterator, live: r.o.Since.IsZero()}
}

// run polls until the stream shard's end.
func (s *shard) run(ctx context.Context) error {
	s.began = time.Now()
	for {
		if err := sleep(ctx, time.Until(s.polled.Add(s.pause()))); err != nil {
			return err
		}
		ended, err := s.poll(ctx)
		if err != nil {
			return err
		}
		if ended {
			s.counting.finish()
			return nil
		}
	}
}

// pause is between two polls. DynamoDB Local has one stream shard for a whole table, and no
// other readers to spare: a full page is followed at once there.
func (s *shard) pause() time.Duration {
	if s.full && s.r.stream.ofEngine() {
		return 0
	}
	return pollInterval
}

// poll makes one call of GetRecords, and counts what it brings.
func (s *shard) poll(ctx context.Context) (ended bool, err error) {
	var room *slot
	select {
	case room = <-s.r.slots:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { s.r.slots <- room }()
	s.polled = time.Now()
	if s.iterator == "" {
		if err := s.locate(ctx); err != nil {
			return false, s.missed(ctx, err)
		}
		if s.iterator == "" { // the stream shard has ended, and there is no more in it
			return true, nil
		}
		s.polled = time.Now()
	}
	if err := s.r.stream.records(ctx, s.iterator, &room.body); err != nil {
		return false, s.missed(ctx, err)
	}
	s.failing = time.Time{}
	batch, err := room.decode()
	if err != nil {
		return false, err
	}
	defer room.release()
	s.iterator = batch.Next
	s.count(batch)
	return batch.Next == "", nil
}

// locate asks for an iterator. One at the stream shard's end skips what is before it.
func (s *shard) locate(ctx context.Context) (err error) {
	p := s.from
	if s.after != "" {
		p = afterSequence(s.after)
	}
	if s.iterator, err = s.r.stream.iterator(ctx, s.id, p); err != nil || p != latest {
		return err
	}
	s.counting.skip(s.r.stream.clock.latest(time.Now()))
	s.live, s.strikes, s.lag = true, 0, 0
	return nil
}

// missed takes a poll that failed. It returns the error if that is final.
func (s *shard) missed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, expired := errors.AsType[*types.ExpiredIteratorException](err); expired {
		s.iterator = ""
		return nil
	}
	if _, trimmed := errors.AsType[*types.TrimmedDataAccessException](err); trimmed {
		s.iterator = ""
		if s.after != "" { // it is a day behind
			s.jump()
		}
		return nil
	}
	if _, gone := errors.AsType[*types.ResourceNotFoundException](err); gone {
		return fmt.Errorf("the stream, or this stream shard, is not there any more: %w", err)
	}
	if !passing(err) {
		return err
	}
	if s.failing.IsZero() {
		s.failing = time.Now()
	}
	if time.Since(s.failing) > patience {
		return fmt.Errorf("no poll was answered for %v: %w", patience, err)
	}
	return nil
}

// count counts a poll's records.
func (s *shard) count(batch *ddbstream.Batch) {
	records := batch.Records
	s.full = len(records) == maxRecords
	if n := len(records); n > 0 {
		s.after = string(records[n-1].Sequence)
	}
	if s.r.stream.ofEngine() {
		second := spread(s.polled)
		if s.live {
			second = readAt(s.polled)
		}
		records = asDynamoDB(records, s.r.o.Found.View, second)
	}
	s.counting.add(count.Decode(records, s.r.o.Found.Source))
	s.keepUp(len(batch.Records) > 0)
}

// keepUp looks how far behind the reader is, and jumps ahead if it falls ever further behind.
func (s *shard) keepUp(some bool) {
	now := s.r.stream.clock.earliest(s.polled) // the service's, or a little earlier
	last := s.lag
	if s.lag = 0; some {
		s.lag, s.empty = now.Sub(s.counting.newest), 0
	} else {
		s.empty++
	}
	if !s.live && (some && s.lag <= lagging || s.empty >= emptyPages) {
		s.live = true
	}
	upTo := s.counting.newest
	switch {
	case s.live && s.lag <= grace:
		upTo = now
	case !s.live && s.r.stream.ofEngine(): // more of the same minute may come
		upTo = upTo.Truncate(time.Minute)
	}
	s.counting.readTo(upTo)
	switch {
	case !s.live && s.polled.Sub(s.began) > historyTime, s.live && s.lag > farBehind:
		s.jump()
	case !s.live || s.lag <= lagging:
		s.strikes = 0
	case s.lag > last-pollInterval:
		if s.strikes++; s.strikes >= maxStrikes {
			s.jump()
		}
	}
}

// jump has the reader go on at the stream shard's end. What is between is a gap.
func (s *shard) jump() { s.iterator, s.after, s.from = "", "", latest }
