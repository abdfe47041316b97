package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	tabletypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/heat/count"
	"github.com/hotshard/hotshard/internal/local"
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
	done  int
	first map[string]time.Time // record that was read, by stream shard
}

// Run reads all stream shards side by side, each with one poll a second at most, and hands each
// slice to add, those of one stream shard in their order. Where the service doesn't know
// AT_TIMESTAMP, as DynamoDB Local does not, all of the stream is read. It stops at the first
// throttle.
func (s *Sampler) Run(ctx context.Context, add func(*report.Slice)) (report.Streams, error) {
	s.add, s.first = add, make(map[string]time.Time)
	st := &stream{client: s.Streams, arn: s.Found.Stream}
	list, err := st.shards(ctx)
	if err != nil {
		return report.Streams{}, explain(err)
	}
	seeks := true
	if len(list) > 0 {
		_, err := st.iterator(ctx, list[len(list)-1].id, atTime(s.Plan.From))
		if seeks = !refused(err); err != nil && seeks {
			return report.Streams{}, explain(err)
		}
	}
	if !seeks && s.Tell != nil {
		s.Tell("this service can't be asked for records by their time, so all of the stream is read")
	}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(MaxCalls)
	for _, shard := range list {
		group.Go(func() error {
			r := &sampling{s: s, stream: st, shard: shard.id, seeks: seeks, of: len(list), strata: make(map[int]*stratum)}
			return r.run(inner)
		})
	}
	if err := group.Wait(); err != nil {
		return report.Streams{}, explain(err)
	}
	var streams report.Streams
	for _, shard := range list {
		streams.Shards = append(streams.Shards, report.StreamShard{ID: shard.id, Parent: shard.parent, First: s.first[shard.id]})
	}
	return streams, nil
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
	of     int  // stream shards

	next   int           // the first stratum that was not handed on
	from   time.Time     // since when all is known without a gap
	to     time.Time     // until when
	span   time.Duration // by how much the last page came on
	first  time.Time     // record that was read
	strata map[int]*stratum

	body    bytes.Buffer
	decoder ddbstream.Decoder
	polled  time.Time
}

// stratum is what is known of one.
type stratum struct{ all, second tallies }

// tallies are what partition keys got.
type tallies struct {
	records int
	units   uint64
	keys    map[string]*tally
}

type tally struct {
	report.Tally
	last []byte // sort key of the newest item
}

// run goes through the plan.
func (r *sampling) run(ctx context.Context) (err error) {
	defer r.tellFirst()
	iterator := ""
	for r.next < r.s.Plan.Strata {
		if iterator == "" {
			if r.skipExpired(); r.next == r.s.Plan.Strata {
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
			r.skip()
			continue
		}
		if err != nil {
			return err
		}
		if iterator == "" { // the stream shard's end
			r.to = r.s.Plan.To()
		}
		r.handOn()
		if r.jumps() {
			r.giveUp()
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
	for r.seeks && r.next < r.s.Plan.Strata && time.Since(r.s.Plan.Begin(r.next)) > keptFor {
		r.skip()
	}
}

// skip leaves the next stratum out.
func (r *sampling) skip() {
	delete(r.strata, r.next)
	r.next++
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.progress()
}

// seek asks for an iterator at the next second that is wanted.
func (r *sampling) seek(ctx context.Context) (string, error) {
	if !r.seeks {
		r.from, r.to = r.s.Plan.From, r.s.Plan.From
		return r.stream.iterator(ctx, r.shard, horizon)
	}
	at := r.s.Plan.Second(r.shard, r.next)
	r.from, r.to = at, at
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
		if err := r.stream.records(ctx, iterator, &r.body); err != nil {
			return "", r.fail(err)
		}
		batch, err := r.decoder.Decode(r.body.Bytes())
		if err != nil {
			return "", fmt.Errorf("the answer of GetRecords can't be read: %w", err)
		}
		iterator = batch.Next
		n, before := len(batch.Records), r.to
		r.count(batch.Records)
		r.decoder.Release()
		r.span = r.to.Sub(before)
		if n > 0 || iterator == "" {
			return iterator, nil
		}
	}
	r.to = r.s.Plan.To() // all was read, and nothing more is there
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
		if w.At.After(r.to) {
			r.to = w.At
		}
		if !w.At.Before(r.s.Plan.From) && w.At.Before(r.s.Plan.To()) {
			r.file(&w, record)
		}
	}
}

func (r *sampling) file(w *count.Write, record *ddbstream.Record) {
	k := r.s.Plan.Of(w.At)
	if k < r.next {
		return // late: its stratum was handed on
	}
	at := r.strata[k]
	if at == nil {
		at = &stratum{}
		r.strata[k] = at
	}
	sortKey, _ := record.Keys.Key(r.s.Found.Source.SortKey)
	fresh := record.Name == ddbstream.Insert
	at.all.add(w, fresh, sortKey)
	if second := r.s.Plan.Second(r.shard, k); !w.At.Before(second) && w.At.Before(second.Add(time.Second)) {
		at.second.add(w, fresh, sortKey)
	}
}

func (r *sampling) tellFirst() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.first[r.shard] = r.first
}

func (t *tallies) add(w *count.Write, fresh bool, sortKey []byte) {
	if t.keys == nil {
		t.keys = make(map[string]*tally)
	}
	k := t.keys[string(w.Key)]
	if k == nil {
		k = &tally{}
		t.keys[string(w.Key)] = k
	}
	t.records++
	t.units += uint64(w.Units)
	k.Units += uint64(w.Units)
	k.Writes++
	if !fresh {
		return
	}
	if k.Fresh > 0 && bytes.Compare(sortKey, k.last) > 0 {
		k.Rising++
	}
	k.Fresh++
	k.last = append(k.last[:0], sortKey...)
}

// handOn hands on the strata of which no more will be known: those that are known whole, and
// those of which the begin was skipped, by their second. A record's time is to the second, so
// all of a second is known when a later one was seen.
func (r *sampling) handOn() {
	for r.next < r.s.Plan.Strata {
		whole := !r.from.After(r.s.Plan.Begin(r.next))
		switch {
		case whole && !r.to.Before(r.s.Plan.Begin(r.next+1)):
			r.give(true)
		case !whole && r.secondKnown(r.next):
			r.give(false)
		default:
			return
		}
	}
}

// giveUp hands on the strata by their second of which more could be known.
func (r *sampling) giveUp() {
	for r.next < r.s.Plan.Strata && r.secondKnown(r.next) {
		r.give(false)
	}
}

func (r *sampling) secondKnown(stratum int) bool {
	second := r.s.Plan.Second(r.shard, stratum)
	return !r.from.After(second) && !r.to.Before(second.Add(time.Second))
}

// jumps tells whether the next second that is wanted is so far that another page would not
// come to it, as far as the last one tells.
func (r *sampling) jumps() bool {
	if !r.seeks {
		return false
	}
	next := r.next
	for next < r.s.Plan.Strata && r.secondKnown(next) {
		next++
	}
	if next == r.s.Plan.Strata {
		return true
	}
	ahead := r.s.Plan.Second(r.shard, next).Sub(r.to)
	return ahead > 0 && ahead > r.span
}

// give hands on the next stratum.
func (r *sampling) give(whole bool) {
	at := r.strata[r.next]
	if at == nil {
		at = &stratum{}
	}
	t := &at.second
	if whole {
		t = &at.all
	}
	slice := &report.Slice{StreamShard: r.shard, Stratum: r.next, Whole: whole, Records: t.records, Units: t.units, Keys: make(map[string]report.Tally, len(t.keys))}
	for key, tally := range t.keys {
		slice.Keys[key] = tally.Tally
	}
	delete(r.strata, r.next)
	r.next++
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.add(slice)
	r.progress()
}

// progress counts a stratum. The caller holds mu.
func (r *sampling) progress() {
	r.s.done++
	if r.s.Progress != nil {
		r.s.Progress(r.s.done, r.of*r.s.Plan.Strata)
	}
}

// asDynamoDB mends what DynamoDB Local does otherwise: it stamps to the minute, of which second
// makes a second, and writes a record of a delete that found no item.
func asDynamoDB(records []ddbstream.Record, view tabletypes.StreamViewType, second func(ddbstream.Record) time.Time) []ddbstream.Record {
	olds := view == tabletypes.StreamViewTypeNewAndOldImages || view == tabletypes.StreamViewTypeOldImage
	kept := records[:0]
	for _, record := range records {
		if olds && record.Name == ddbstream.Remove && !record.Old.Present() {
			continue
		}
		if !record.Created.IsZero() {
			record.Created = second(record)
		}
		kept = append(kept, record)
	}
	return kept
}

// readAt takes the second in which a record was read, or the last one of its minute.
func readAt(at time.Time) func(ddbstream.Record) time.Time {
	return func(record ddbstream.Record) time.Time {
		return local.Stamp(record.Created, at.UTC().Truncate(time.Second))
	}
}

// spread gives records of the past a second each: over their minute, or as much of it as was
// over then, they are spread evenly.
func spread(then time.Time) func(ddbstream.Record) time.Time {
	return func(record ddbstream.Record) time.Time {
		seconds := max(1, min(60, 1+int(then.Sub(record.Created)/time.Second)))
		number := 0
		for _, digit := range record.Sequence[max(0, len(record.Sequence)-6):] {
			number = 10*number + int(digit-'0')
		}
		return record.Created.Add(time.Duration(number%seconds) * time.Second)
	}
}
