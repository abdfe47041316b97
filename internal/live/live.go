// Package live reads the stream of any table from where it runs, and counts it there as the
// hot-key detector does:
//
//	found, err := live.Look(ctx, tables, mappings, "orders")
//	if err := found.TooMany(); err != nil { ... }
//	reader := live.New(live.Options{Streams: streams, Found: found})
//	go reader.Run(ctx)
//	for window, err := range reader.Windows(ctx, from, to, 10*time.Second) {
//		rows := heat.Merge(window.Items)
//	}
//
// It changes nothing: beside DescribeTable it makes the calls DescribeStream, GetShardIterator
// and GetRecords only. A stream shard takes two readers in all, so it looks first who they are,
// asks each stream shard once a second at most, and stops at the first throttle.
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

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// Window is the length of the windows that are counted. They are aligned with the Unix epoch,
// unless Options say otherwise; the one in which reading began is covered in part.
const Window = 10 * time.Second

// Options say what is read.
type Options struct {
	Streams Streams
	Found   Found

	// Since is where to begin; the zero time is now. What is older than the stream's oldest
	// record, 24 hours, is not there.
	Since time.Time

	// AtOnce has the first window begin when reading does, so that it is whole as soon as may be.
	// Then windows are kept for an hour only, since minutes are not made of whole ones.
	AtOnce bool

	// PartitionWCU is how many write units a second a partition takes, 1,000 by default.
	PartitionWCU float64

	// Tell is told what the operator should know; nil is nobody.
	Tell func(sentence string)
}

// Reader reads a stream and is a [heat.Source].
type Reader struct {
	o       Options
	stream  *stream
	slots   chan *slot
	windows *windows

	toldSkew bool // only Run's closing of windows touches it
}

// New returns a reader that has not begun.
func New(o Options) *Reader {
	o.PartitionWCU = cmp.Or(o.PartitionWCU, plan.PartitionWriteUnits)
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	r := &Reader{
		o: o, stream: &stream{client: o.Streams, arn: o.Found.Stream}, slots: make(chan *slot, MaxCalls),
		windows: newWindows(heat.Item{Table: o.Found.Source.Table, Window: Window, Limit: o.PartitionWCU, HotRate: Threshold * o.PartitionWCU}, o.AtOnce),
	}
	for range MaxCalls {
		r.slots <- new(slot)
	}
	return r
}

// Threshold is the part of a partition's write units from which on a key is hot.
const Threshold = 0.7

// MaxCalls bounds the polls under way, whose answers are in memory. Each takes some tens of
// milliseconds from afar, so it bounds how many stream shards can be polled each second.
const MaxCalls = 32

// Run reads until ctx ends, or until there is nothing more to read or something is in the way.
// It always returns an error; ctx's own when that has ended.
func (r *Reader) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	l := &lineage{r: r, group: group, known: make(map[string]*branch), ended: make(chan string)}
	group.Go(func() error { return l.run(ctx) })
	group.Go(func() error { return r.close(ctx) })
	return explain(group.Wait())
}

// closeInterval is how often windows are looked at whether they are over.
const closeInterval = 200 * time.Millisecond

// close puts windows into history when they are over.
func (r *Reader) close(ctx context.Context) error {
	for {
		if err := sleep(ctx, closeInterval); err != nil {
			return err
		}
		r.windows.close()
		r.tellSkew()
	}
}

// Settled is until when all that the stream has is in the windows, but for records that come
// late: those of windows that end by then don't change any more, as a rule.
func (r *Reader) Settled() time.Time { return r.windows.settled() }

// Windows implements [heat.Source]: those that are over, by 10 s for an hour, by the minute
// for a day and by ten minutes for a week, and the running ones as far as they are counted.
// An item's coverage is, of the stream shards that are read, the share of the window's time
// that none of them skipped: reading all of 9 stream shards and half of a window of the
// tenth is 0.95. What was before reading began is skipped, too.
func (r *Reader) Windows(_ context.Context, from, to time.Time, step time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for _, w := range r.windows.of(from, to, step) {
			if !yield(w, nil) {
				return
			}
		}
	}
}

// errOver says that there is nothing to wait for.
var errOver = errors.New("the stream has ended, and no stream shard follows: was it turned off?")

func (r *Reader) tell(format string, values ...any) { r.o.Tell(fmt.Sprintf(format, values...)) }
