// Package live reads the stream of any table and counts its writes locally, as the hot-key detector
// does:
//
//	found, err := live.Look(ctx, tables, mappings, "orders")
//	if err := found.TooMany(); err != nil { ... }
//	reader := live.New(live.Options{Streams: streams, Found: found})
//	go reader.Run(ctx)
//	for window, err := range reader.Windows(ctx, from, to, 10*time.Second) {
//		rows := heat.Merge(window.Items)
//	}
//
// It only reads: beside DescribeTable it calls DescribeStream, GetShardIterator and GetRecords. A
// stream shard takes two readers, so Look first finds its readers. The reader polls each stream
// shard at most once a second, and stops at the first throttle.
//
// What it counts is kept in memory: see [Reader.Windows].
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/aws/streamshard"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Window is the length of counted windows. They are aligned with the Unix epoch, unless Options
// change that; the first window is covered in part.
const Window = 10 * time.Second

// Options configure a Reader.
type Options struct {
	Streams streamshard.Client
	Found   Found

	// Since is where to begin; zero means now. A stream has no records older than 24 hours.
	Since time.Time

	// AtOnce begins the first window when reading begins, so that it is complete early. Windows are
	// then kept for an hour only, since they are not aligned with minutes.
	AtOnce bool

	// PartitionWCU is a partition's limit in WCU/s, 1,000 by default.
	PartitionWCU float64

	// Find looks the table up again when its stream is gone; reading continues with the new
	// stream. If Find is nil, reading ends.
	Find func(context.Context) (Found, error)

	// Tell receives messages for the operator; may be nil.
	Tell func(sentence string)
}

// Reader reads a stream and is a [heat.Source].
type Reader struct {
	o       Options
	clock   streamshard.Clock
	link    *link
	buffers chan *streamshard.Buffer
	windows *windows
	splits  splits

	toldSkew bool // used only while Run closes windows
}

// New returns a Reader that has not begun to read.
func New(o Options) *Reader {
	o.PartitionWCU = cmp.Or(o.PartitionWCU, plan.PartitionWriteUnits)
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	r := &Reader{
		o: o, link: newLink(o.Tell), buffers: make(chan *streamshard.Buffer, MaxCalls),
		windows: newWindows(heat.Item{Table: o.Found.Source.Table, Window: Window, Limit: o.PartitionWCU, HotRate: Threshold * o.PartitionWCU}, o.AtOnce),
	}
	for range MaxCalls {
		r.buffers <- new(streamshard.Buffer)
	}
	return r
}

// Threshold is the share of a partition's WCU/s from which a key is hot.
const Threshold = 0.7

// MaxCalls bounds the concurrent polls, whose answers are in memory. A poll takes some tens of
// milliseconds over a network, so this bounds the stream shards polled per second.
const MaxCalls = 32

// Run reads until ctx ends, the service throttles, or a failure is permanent. It reconnects after
// all other failures, and continues after the last record. Run always returns an error: ctx's own if
// that has ended.
func (r *Reader) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.follow(ctx) })
	group.Go(func() error { return r.close(ctx) })
	return explain(group.Wait())
}

// follow reads the stream. If the stream is gone, it starts over with the table's current stream.
func (r *Reader) follow(ctx context.Context) error {
	found, since := r.o.Found, r.o.Since
	for {
		err := r.newStream(found, since).run(ctx)
		if !isGone(err) || ctx.Err() != nil || r.o.Find == nil {
			return err
		}
		r.windows.leave()
		r.link.forget()
		gone := found.Stream
		if found, err = r.find(ctx, gone, err); err != nil {
			return err
		}
		since = time.Time{}
	}
}

// findPause is the least time between the end of one stream and the begin of the next.
const findPause = 2 * time.Second

// find waits until the table has a stream.
func (r *Reader) find(ctx context.Context, gone string, why error) (found Found, err error) {
	table := r.o.Found.Source.Table
	r.tell("The stream of table %q is gone: %s. What was read stays; waiting for a new stream.", table, streamshard.Cause(why))
	if !dynamo.Pause(ctx, findPause) {
		return found, ctx.Err()
	}
	err = r.link.persist(ctx, "", 0, func() (err error) {
		if found, err = r.o.Find(ctx); isAbsent(err) {
			return errAbsent
		}
		return err
	})
	if err != nil {
		return found, err
	}
	if found.Stream == gone {
		r.tell("Reading goes on with what is written now: stream shards that were read are gone.")
	} else {
		r.tell("Table %q has a new stream, which is read from now on.", table)
	}
	return found, nil
}

// explain adds to an error that ends reading what it means.
func explain(err error) error {
	if err == nil || !dynamo.IsThrottle(err) {
		return err
	}
	code := "throttled"
	if fault, ok := errors.AsType[smithy.APIError](err); ok {
		code = fault.ErrorCode()
	}
	return fmt.Errorf("DynamoDB throttles the readers of this stream (%s), so reading stops: other readers need their share. Run it again when fewer read", code)
}

// closeInterval is how often windows are checked for their end.
const closeInterval = 200 * time.Millisecond

// close moves complete windows into history.
func (r *Reader) close(ctx context.Context) error {
	for dynamo.Pause(ctx, closeInterval) {
		r.windows.close()
		r.tellSkew()
	}
	return ctx.Err()
}

// Settled returns the time by which complete windows end. Only late records change them.
func (r *Reader) Settled() time.Time { return r.windows.settled() }

// Windows implements [heat.Source]. It yields complete windows only: of 10 s for an hour, of a
// minute for a day and of ten minutes for a week. A window that was read and has no writes has an
// item without keys. An item's coverage is the share of the window that was read, averaged over the
// stream shards: all of 9 stream shards and half of the tenth is 0.95. 1e-9 means that nothing was
// read, as before reading began.
func (r *Reader) Windows(_ context.Context, from, to time.Time, step time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for _, w := range r.windows.of(from, to, step) {
			if !yield(w, nil) {
				return
			}
		}
	}
}

var (
	errOver  = errors.New("the stream has ended, and no stream shard follows: was it turned off?")
	errEnded = errors.New("the stream shard has ended")
)

// tolerated is the difference of clocks that is not reported.
const tolerated = 2 * time.Second

// tellSkew reports once that this machine's clock is wrong.
func (r *Reader) tellSkew() {
	least, most := r.clock.Ahead()
	if r.toldSkew || least <= tolerated && most >= -tolerated {
		return
	}
	r.toldSkew = true
	by, way := least, "behind"
	if most < 0 {
		by, way = -most, "ahead of"
	}
	r.tell("this machine's clock is %v %s the service's: windows go by the service's", by.Round(time.Second), way)
}

func (r *Reader) tell(format string, values ...any) { r.o.Tell(fmt.Sprintf(format, values...)) }
