package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat"
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
	maxStrikes = 3    // polls that lag and don't come closer; then the reader jumps ahead
	emptyPages = 3    // so many in a row, and there is no history left
	topKeys    = 1000 // keys that a window tells apart, as the detector's
)

// slot is the memory that a poll needs: there are MaxCalls of them.
type slot struct {
	body    bytes.Buffer
	decoder ddbstream.Decoder
}

// keepBody is how large a body's room may be to be used again.
const keepBody = 4 << 20

// shard reads a stream shard.
type shard struct {
	r        *Reader
	id       string
	from     place
	iterator string    // "" when one is to be asked for
	after    string    // the last record's sequence number
	began    time.Time // to read
	polled   time.Time // the last call
	now      time.Time // the service's, at the last call, or a little earlier
	failing  time.Time // since when no poll is answered; zero if the last one was

	live    bool          // it reads what is written now, not what was before
	full    bool          // the last page had as many records as fit
	empty   int           // pages in a row
	strikes int           // polls in a row that lag and don't come closer
	lag     time.Duration // of the newest record at the last poll
	newest  time.Time     // record

	mu     sync.Mutex              // guards what follows; taken before the reader's
	open   map[int64]*count.Window // by start, in seconds
	read   time.Time               // all until then was read, but for gaps
	gaps   []gap                   // that were not handed on
	passed time.Time               // windows that end by then were handed on
}

// gap is a time of which records were not read.
type gap struct{ from, to time.Time }

// newShard has an iterator already, or "".
func (r *Reader) newShard(id string, from place, iterator string) *shard {
	r.mu.Lock()
	defer r.mu.Unlock()
	return &shard{
		r: r, id: id, from: from, iterator: iterator, live: r.o.Since.IsZero(),
		open: make(map[int64]*count.Window), read: later(r.over, r.begin), newest: later(r.over, r.begin), passed: r.over,
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
			s.finish()
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
	batch, err := room.decoder.Decode(room.body.Bytes())
	if err != nil {
		return false, fmt.Errorf("the answer of GetRecords can't be read: %w", err)
	}
	s.iterator = batch.Next
	ended = batch.Next == ""
	s.count(batch)
	room.decoder.Release()
	if room.body.Cap() > keepBody {
		room.body = bytes.Buffer{}
	}
	return ended, nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.r.stream.clock.latest(time.Now())
	s.gaps = append(s.gaps, gap{s.read, now})
	s.read, s.newest, s.live, s.strikes, s.lag = now, now, true, 0, 0
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

// count files a poll's records under their windows, and hands on those that are over.
func (s *shard) count(batch *ddbstream.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	for w := range count.Decode(records, s.r.o.Found.Source) {
		s.add(&w)
	}
	s.keepUp(len(batch.Records) > 0)
	s.passTo(s.read.Add(-grace))
}

// add counts a write. The caller holds mu.
func (s *shard) add(w *count.Write) {
	if w.At.IsZero() { // it may be of any window that is open
		for _, window := range s.open {
			window.Miss(string(w.Sequence))
		}
		return
	}
	if w.At.After(s.newest) {
		s.newest = w.At
	}
	if w.At.Before(s.r.begin) {
		return
	}
	window := s.window(w.At)
	if w.Err != nil {
		window.Miss(string(w.Sequence))
		return
	}
	window.Add(w)
}

// window is the one that a time is in. The caller holds mu.
func (s *shard) window(at time.Time) *count.Window {
	start := s.r.windowOf(at)
	if s.open[start.Unix()] == nil {
		s.open[start.Unix()] = count.NewWindow(start, Window, topKeys)
	}
	return s.open[start.Unix()]
}

// keepUp looks how far behind the reader is, and jumps ahead if it falls ever further behind.
// The caller holds mu.
func (s *shard) keepUp(some bool) {
	s.now = s.r.stream.clock.earliest(s.polled)
	last := s.lag
	if s.lag = 0; some {
		s.lag, s.empty = s.now.Sub(s.newest), 0
	} else {
		s.empty++
	}
	if !s.live && (some && s.lag <= lagging || s.empty >= emptyPages) {
		s.live = true
	}
	upTo := s.newest
	switch {
	case s.live && s.lag <= grace:
		upTo = s.now
	case !s.live && s.r.stream.ofEngine(): // more of the same minute may come
		upTo = s.newest.Truncate(time.Minute)
	}
	s.read = later(s.read, upTo)
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

// passTo hands on the windows that end by then. The caller holds mu.
func (s *shard) passTo(to time.Time) {
	for start, window := range s.open {
		end := window.Start.Add(window.Length)
		if end.After(to) {
			continue
		}
		part := ""
		if !end.After(s.passed) { // it came late
			part = window.First()
		}
		item := s.item(window, part)
		s.r.hand(&item, window.Start, 0)
		delete(s.open, start)
	}
	if to.After(s.passed) {
		s.handGaps(to)
		s.passed = to
	}
}

// handGaps tells the reader what was not read of the windows that are over by then.
func (s *shard) handGaps(to time.Time) {
	for i := range s.gaps {
		g := &s.gaps[i]
		for g.from.Before(g.to) {
			start := s.r.windowOf(g.from)
			end := start.Add(Window)
			if end.After(to) {
				break
			}
			upTo := end
			if g.to.Before(end) {
				upTo = g.to
			}
			s.r.hand(nil, start, upTo.Sub(g.from))
			g.from = end
		}
	}
	s.gaps = slices.DeleteFunc(s.gaps, func(g gap) bool { return !g.from.Before(g.to) })
}

func (s *shard) item(w *count.Window, part string) heat.Item {
	item := w.Item(s.id, part, s.r.o.PartitionWCU, s.r.hotRate())
	item.Table = s.r.o.Found.Source.Table
	return item
}

// finish hands on all that there is: no record comes any more.
func (s *shard) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, window := range s.open {
		item := s.item(window, "")
		s.r.hand(&item, window.Start, 0)
	}
	clear(s.open)
	s.handGaps(s.r.windowOf(s.read).Add(Window))
}

func (s *shard) passedBy() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.passed
}

// running are the windows that are open.
func (s *shard) running() (items []heat.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, window := range s.open {
		items = append(items, s.item(window, ""))
	}
	return items
}
