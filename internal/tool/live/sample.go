package live

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/aws/streamshard"
	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat/count"
	"github.com/hotshard/hotshard/internal/tool/report"
)

// Sampler reads the slices of a plan from a stream.
type Sampler struct {
	Streams streamshard.Client
	Found   Found
	Plan    report.Plan

	// Notify receives messages for the operator. Progress receives the number of strata that are done, of
	// all stream shards. Both may be nil.
	Notify   func(sentence string)
	Progress func(done, of int)

	link  *link
	mu    sync.Mutex // guards what follows
	add   func(*report.Slice)
	done  int                  // strata
	of    int                  // of all stream shards
	first map[string]time.Time // its first record read, by stream shard
}

// Run reads all stream shards concurrently, each with at most one poll a second. It passes each slice to
// add, those of one stream shard in order. If the service has no AT_TIMESTAMP, as DynamoDB Local, it
// reads the whole stream. It stops at the first throttle. After other errors it reconnects for up to
// 5 minutes, and continues where it stopped.
func (s *Sampler) Run(ctx context.Context, add func(*report.Slice)) (report.Streams, error) {
	s.add, s.first, s.link = add, make(map[string]time.Time), newLink(s.Notify)
	list, err := s.readShards(ctx)
	if err != nil {
		return report.Streams{}, explain(err)
	}
	var streams report.Streams
	for _, shard := range list {
		streams.Shards = append(streams.Shards, report.StreamShard{ID: shard.ID, Parent: shard.Parent, First: s.first[shard.ID]})
	}
	return streams, nil
}

// readShards reads all stream shards, and returns their descriptions.
func (s *Sampler) readShards(ctx context.Context) ([]streamshard.Shard, error) {
	st := streamshard.New(s.Streams, s.Found.Stream, s.Found.View)
	var list []streamshard.Shard
	var seeks bool
	err := s.link.persist(ctx, "", patience, func() (err error) {
		if list, err = st.Shards(ctx); err == nil {
			seeks, err = st.FindsTimes(ctx, list, s.Plan.From)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !seeks && s.Notify != nil {
		s.Notify("This service can't seek to a time, so the whole stream is read.")
	}
	s.of = len(list) * s.Plan.Strata
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxCalls)
	for _, shard := range list {
		group.Go(func() error {
			r := s.sampling(st, shard.ID)
			r.seeks = seeks
			r.strata = strata{plan: s.Plan, shard: shard.ID, deliver: s.deliver, sortKey: s.Found.Source.SortKey, known: make(map[int]*stratum)}
			return r.run(ctx)
		})
	}
	return list, group.Wait()
}

// deliver passes a stratum's slice to add; nil if the stratum is skipped.
func (s *Sampler) deliver(slice *report.Slice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slice != nil {
		s.add(slice)
	}
	s.done++
	if s.Progress != nil {
		s.Progress(s.done, s.of)
	}
}

// sampling reads the slices of one stream shard.
//
// A page of records covers some time from the requested second on. If it reaches the next wanted second,
// or one more page would, reading continues, and the strata between are complete. Otherwise it seeks to
// the next wanted second.
type sampling struct {
	s      *Sampler
	stream *streamshard.Stream
	shard  string
	seeks  bool // the service can seek to a time
	strata strata

	cursor *streamshard.Cursor
	span   time.Duration // time that the last page covered
	first  time.Time     // time of the first record read
	buffer streamshard.Buffer
	polled time.Time
}

func (s *Sampler) sampling(st *streamshard.Stream, shard string) *sampling {
	return &sampling{s: s, stream: st, shard: shard, cursor: st.Cursor(shard, streamshard.TrimHorizon)}
}

// run reads the plan's seconds.
func (r *sampling) run(ctx context.Context) error {
	defer r.setFirst()
	seek := true
	for !r.strata.allDelivered() {
		if seek {
			r.skipExpired()
			if r.strata.allDelivered() {
				return nil
			}
			r.seek()
		}
		closed, err := r.page(ctx)
		if seek = r.seeks && streamshard.IsTrimmed(err); seek {
			r.strata.skip()
			continue
		}
		if err != nil {
			return err
		}
		if closed {
			r.strata.to = r.s.Plan.To()
		}
		r.strata.deliverWhole()
		if seek = closed || r.jumps(); seek {
			r.strata.deliverSeconds()
		}
	}
	return nil
}

// keptFor is how long a stream certainly keeps a record.
const keptFor = 24*time.Hour - time.Minute

// skipExpired skips the strata that expired while others were read. Reading an expired time begins at
// the oldest record, and the time before it would seem to have none.
func (r *sampling) skipExpired() {
	for r.seeks && !r.strata.allDelivered() && time.Since(r.s.Plan.Begin(r.strata.next)) > keptFor {
		r.strata.skip()
	}
}

// patience is how long a call of the sampler is retried.
const patience = 5 * time.Minute

// seek moves to the next wanted second.
func (r *sampling) seek() {
	at, to := r.s.Plan.From, streamshard.TrimHorizon
	if r.seeks {
		at = r.strata.second(r.strata.next)
		to = streamshard.AtTimestamp(at)
	}
	r.strata.begin(at)
	r.cursor.Seek(to)
}

// quietPages is how many consecutive pages without records end the reading.
const quietPages = 10

// page reads until the next records, and counts them.
func (r *sampling) page(ctx context.Context) (closed bool, err error) {
	for range quietPages {
		page, err := r.pollPage(ctx)
		if err != nil {
			return false, err
		}
		before := r.strata.to
		r.count(page.Records)
		r.buffer.Release()
		r.span = r.strata.to.Sub(before)
		if len(page.Records) > 0 || page.Closed {
			return page.Closed, nil
		}
	}
	r.strata.to = r.s.Plan.To() // all was read, and there are no more records
	return false, nil
}

// pollPage calls GetRecords, with retries.
func (r *sampling) pollPage(ctx context.Context) (page streamshard.Page, err error) {
	err = r.s.link.persist(ctx, r.shard, patience, func() error {
		if !dynamo.Pause(ctx, time.Until(r.polled.Add(r.pause()))) {
			return ctx.Err()
		}
		if _, err := r.cursor.Locate(ctx); err != nil {
			return err
		}
		r.polled = time.Now()
		page, err = r.cursor.Next(ctx, &r.buffer, streamshard.MaxRecords)
		return err
	})
	return page, err
}

// pause returns the time between two polls. A local engine has no other readers to protect.
func (r *sampling) pause() time.Duration {
	if r.stream.IsEngine() {
		return 0
	}
	return pollInterval
}

// count adds records to their strata.
func (r *sampling) count(records []ddbstream.Record) {
	if r.stream.IsEngine() {
		records = stampEach(r.stream.Real(records), readAt(r.polled))
	}
	i := 0
	for w := range count.Decode(records, r.s.Found.Source) {
		record := &records[i]
		i++
		if w.Err != nil || w.At.IsZero() {
			continue
		}
		if r.first.IsZero() {
			r.first = w.At
		}
		r.strata.to = later(r.strata.to, w.At)
		r.strata.addWrite(&w, record)
	}
}

func (r *sampling) setFirst() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.first[r.shard] = r.first
}

// jumps reports whether the next wanted second is beyond the next page, which is assumed to cover as much
// time as the last one.
func (r *sampling) jumps() bool {
	if !r.seeks {
		return false
	}
	ahead, more := r.strata.ahead()
	return !more || ahead > 0 && ahead > r.span
}
