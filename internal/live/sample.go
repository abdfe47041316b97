package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat/count"
	"github.com/hotshard/hotshard/internal/report"
)

// Sampler reads the slices of a plan from a stream.
type Sampler struct {
	Streams Streams
	Found   Found
	Plan    report.Plan

	// Tell is told what the operator should know, and Progress how many strata of all stream
	// shards are done; nil is nobody.
	Tell     func(sentence string)
	Progress func(done, of int)

	mu    sync.Mutex // guards what follows
	add   func(*report.Slice)
	done  int                  // strata
	of    int                  // of all stream shards
	first map[string]time.Time // record that was read, by stream shard
}

// Run reads all stream shards side by side, each with one poll a second at most, and hands each
// slice to add, those of one stream shard in their order. Where the service doesn't know
// AT_TIMESTAMP, as DynamoDB Local does not, all of the stream is read. It stops at the first
// throttle.
func (s *Sampler) Run(ctx context.Context, add func(*report.Slice)) (report.Streams, error) {
	s.add, s.first = add, make(map[string]time.Time)
	list, err := s.read(ctx)
	if err != nil {
		return report.Streams{}, explain(err)
	}
	var streams report.Streams
	for _, shard := range list {
		streams.Shards = append(streams.Shards, report.StreamShard{ID: shard.id, Parent: shard.parent, First: s.first[shard.id]})
	}
	return streams, nil
}

// read reads all stream shards, and returns them.
func (s *Sampler) read(ctx context.Context) ([]listed, error) {
	st := &stream{client: s.Streams, arn: s.Found.Stream}
	list, err := st.shards(ctx)
	if err != nil {
		return nil, err
	}
	seeks, err := st.seeks(ctx, list, s.Plan.From)
	if err != nil {
		return nil, err
	}
	if !seeks && s.Tell != nil {
		s.Tell("this service can't be asked for records by their time, so all of the stream is read")
	}
	s.of = len(list) * s.Plan.Strata
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxCalls)
	for _, shard := range list {
		group.Go(func() error {
			r := &sampling{s: s, stream: st, shard: shard.id, seeks: seeks}
			r.strata = strata{plan: s.Plan, shard: shard.id, hand: s.hand, sortKey: s.Found.Source.SortKey, known: make(map[int]*stratum)}
			return r.run(ctx)
		})
	}
	return list, group.Wait()
}

// hand takes a stratum's slice, nil for one that is left out.
func (s *Sampler) hand(slice *report.Slice) {
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
// A page of records brings what was written in some time, begun at the second that was asked
// for. Where it reaches as far as the next second that is wanted, or another page would, reading
// goes on from there, and the strata between are known whole; else it jumps.
type sampling struct {
	s      *Sampler
	stream *stream
	shard  string
	seeks  bool // the service can be asked for records by their time
	strata strata

	span   time.Duration // by how much the last page came on
	first  time.Time     // record that was read
	room   slot
	polled time.Time
}

// run goes through the plan.
func (r *sampling) run(ctx context.Context) (err error) {
	defer r.tellFirst()
	iterator := ""
	for !r.strata.done() {
		if iterator == "" {
			r.skipExpired()
			if r.strata.done() {
				return nil
			}
			if iterator, err = r.seek(ctx); err != nil {
				return err
			}
		}
		if iterator != "" {
			iterator, err = r.page(ctx, iterator)
		}
		if _, trimmed := errors.AsType[*types.TrimmedDataAccessException](err); trimmed && r.seeks {
			iterator = ""
			r.strata.skip()
			continue
		}
		if err != nil {
			return err
		}
		if iterator == "" { // the stream shard's end
			r.strata.to = r.s.Plan.To()
		}
		r.strata.handOn()
		if r.jumps() {
			r.strata.giveUp()
			iterator = ""
		}
	}
	return nil
}

// keptFor is how long a stream has a record for certain; it is gone soon after.
const keptFor = 24*time.Hour - time.Minute

// skipExpired leaves out the strata that went while others were read. A service that is asked
// for what is gone begins at what is there, and nothing would be known of the time between.
func (r *sampling) skipExpired() {
	for r.seeks && !r.strata.done() && time.Since(r.s.Plan.Begin(r.strata.next)) > keptFor {
		r.strata.skip()
	}
}

// seek asks for an iterator at the next second that is wanted.
func (r *sampling) seek(ctx context.Context) (string, error) {
	if !r.seeks {
		r.strata.begin(r.s.Plan.From)
		return r.stream.iterator(ctx, r.shard, horizon)
	}
	at := r.strata.second(r.strata.next)
	r.strata.begin(at)
	return r.stream.iterator(ctx, r.shard, atTime(at))
}

// quietPages is how many pages in a row without records mean that there are none to come.
const quietPages = 10

// page reads on to the next records. It returns the iterator behind them, "" at the end.
func (r *sampling) page(ctx context.Context, iterator string) (string, error) {
	for range quietPages {
		if err := sleep(ctx, time.Until(r.polled.Add(r.pause()))); err != nil {
			return "", err
		}
		r.polled = time.Now()
		if err := r.stream.records(ctx, iterator, &r.room.body); err != nil {
			return "", r.fail(err)
		}
		batch, err := r.room.decode()
		if err != nil {
			return "", err
		}
		iterator = batch.Next
		n, before := len(batch.Records), r.strata.to
		r.count(batch.Records)
		r.room.release()
		r.span = r.strata.to.Sub(before)
		if n > 0 || iterator == "" {
			return iterator, nil
		}
	}
	r.strata.to = r.s.Plan.To() // all was read, and nothing more is there
	return iterator, nil
}

// pause is between two polls. The engine of one machine has no other readers to spare.
func (r *sampling) pause() time.Duration {
	if r.stream.ofEngine() {
		return 0
	}
	return pollInterval
}

// fail says which stream shard it was.
func (r *sampling) fail(err error) error { return fmt.Errorf("stream shard %s: %w", r.shard, err) }

// count files records under their strata.
func (r *sampling) count(records []ddbstream.Record) {
	if r.stream.ofEngine() {
		records = asDynamoDB(records, r.s.Found.View, readAt(r.polled))
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
		r.strata.add(&w, record)
	}
}

func (r *sampling) tellFirst() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.first[r.shard] = r.first
}

// jumps tells whether the next second that is wanted is so far that another page would not
// come to it, as far as the last one tells.
func (r *sampling) jumps() bool {
	if !r.seeks {
		return false
	}
	ahead, more := r.strata.ahead()
	return !more || ahead > 0 && ahead > r.span
}
