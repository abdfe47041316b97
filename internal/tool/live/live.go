// Package live reads the stream of any table and counts its writes locally, as the hot-key detector does:
//
//	found, err := live.FindStream(ctx, tables, mappings, "orders")
//	if err := found.TooMany(); err != nil { ... }
//	reader := live.New(live.Options{Streams: streams, Found: found})
//	go reader.Run(ctx)
//	for window, err := range reader.Windows(ctx, from, to, 10*time.Second) {
//		rows := heat.Merge(window.Items)
//	}
//
// It only reads: it calls DescribeTable, DescribeStream, GetShardIterator and GetRecords. A stream shard allows two
// readers, so FindStream lists the existing readers. The reader polls each stream shard at most once a second, and
// stops at the first throttle. It keeps its counts in memory: see [Reader.Windows].
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Window is the length of windows. Without Options.AtOnce they are aligned with the Unix epoch, and the first is read in part.
const Window = 10 * time.Second

// Options configure a Reader.
type Options struct {
	Streams *dynamodbstreams.Client
	Found   Found

	// AtOnce begins the first window when reading begins, so that it is complete early. Windows are then not aligned
	// with minutes.
	AtOnce bool

	// PartitionWCU is a partition's limit in WCU/s, 1,000 by default.
	PartitionWCU float64

	// Notify receives messages for the operator; may be nil.
	Notify func(sentence string)
}

// Reader reads a stream. It implements [heat.Source].
type Reader struct {
	o       Options
	link    *link
	buffers chan *eventsource.Buffer
	windows *windows
}

// New returns a Reader, which begins to read with Run.
func New(options Options) *Reader {
	options.PartitionWCU = cmp.Or(options.PartitionWCU, plan.PartitionWriteUnits)
	r := &Reader{
		o: options, link: newLink(options.Notify), buffers: make(chan *eventsource.Buffer, MaxCalls),
		windows: newWindows(heat.Item{Table: options.Found.Source.Table, Window: Window, Limit: options.PartitionWCU, HotRate: Threshold * options.PartitionWCU}, options.AtOnce),
	}
	for range MaxCalls {
		r.buffers <- new(eventsource.Buffer)
	}
	return r
}

// Threshold is the share of a partition's WCU/s from which a key is hot.
const Threshold = 0.7

// MaxCalls is the maximum number of concurrent polls, whose responses are in memory. A poll takes some tens of milliseconds
// over a network, so MaxCalls also bounds how many stream shards are polled in a second.
const MaxCalls = 32

// Run reads until ctx ends, the service throttles, the stream is gone, or an error is permanent. It retries after other
// errors, and waits for new records after the last one. Run always returns an error: ctx's if ctx has ended.
func (r *Reader) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	s := &stream{Stream: eventsource.NewStream(r.o.Streams, r.o.Found.Stream, r.o.Found.View), r: r}
	group.Go(func() error { return s.run(ctx) })
	group.Go(func() error { return r.moveCompleteWindows(ctx) })
	return explainError(group.Wait())
}

// explainError returns an error that says what a throttle or a missing stream means. It returns other errors unchanged.
func explainError(err error) error {
	if _, gone := errors.AsType[*streamtypes.ResourceNotFoundException](err); gone {
		return fmt.Errorf("%w (%v)", errStreamEnded, err) // as text: the error of a missing table is another one
	}
	if err == nil || !dynamo.IsThrottle(err) {
		return err
	}
	code := "throttled"
	if fault, ok := errors.AsType[smithy.APIError](err); ok {
		code = fault.ErrorCode()
	}
	return fmt.Errorf("DynamoDB throttles the readers of this stream (%s), so reading stops: other readers need their share. Run the command again when fewer programs read the stream", code)
}

// moveInterval is the time between two calls of moveComplete.
const moveInterval = 200 * time.Millisecond

// moveCompleteWindows moves complete windows into history until ctx ends.
func (r *Reader) moveCompleteWindows(ctx context.Context) error {
	for dynamo.Pause(ctx, moveInterval) {
		r.windows.moveComplete()
	}
	return ctx.Err()
}

// Settled returns the time until which windows are complete; zero before reading begins. Only late records change complete windows.
func (r *Reader) Settled() time.Time { return r.windows.completeUntil() }

// Windows implements [heat.Source]. It yields only complete windows, of the last six hours. A window that was read and has
// no writes has an item without keys.
//
// An item's coverage is the share of the window that was read, averaged over the stream shards: all of 9 stream shards and
// half of the tenth is 0.95. 0 means that all was read, 1e-9 that nothing was.
func (r *Reader) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for _, w := range r.windows.complete(from, to) {
			if !yield(w, nil) {
				return
			}
		}
	}
}

var (
	errStreamEnded = errors.New("the stream has ended: its table was deleted, it was disabled, or it was not read for a day. Run the command again to read the table's stream")
	errShardEnded  = errors.New("the stream shard has ended")
)
