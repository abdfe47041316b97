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
	"maps"
	"slices"
	"sync"
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

	// PartitionWCU is how many write units a second a partition takes, 1,000 by default; a key
	// is hot from Threshold of it on, 0.7 by default.
	PartitionWCU, Threshold float64

	// Tell is told what the operator should know; nil is nobody.
	Tell func(sentence string)
}

// Reader reads a stream and is a [heat.Source].
type Reader struct {
	o      Options
	stream *stream
	slots  chan *slot

	toldSkew bool // only Run's closing of windows touches it

	mu      sync.Mutex
	begin   time.Time         // since when records are counted
	base    time.Time         // of the first window
	reading map[string]*shard // by stream shard
	parts   map[int64]*parts  // of windows that are not over, by their start in seconds
	over    time.Time         // windows that end by then are in history
	history history
}

// parts are what stream shards have handed on of a window.
type parts struct {
	items []heat.Item
	lost  time.Duration // that stream shards were not read, added up
}

// New returns a reader that has not begun.
func New(o Options) *Reader {
	o.PartitionWCU = cmp.Or(o.PartitionWCU, plan.PartitionWriteUnits)
	o.Threshold = cmp.Or(o.Threshold, DefaultThreshold)
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	r := &Reader{
		o: o, stream: &stream{client: o.Streams, arn: o.Found.Stream}, slots: make(chan *slot, MaxCalls),
		reading: make(map[string]*shard), parts: make(map[int64]*parts),
	}
	for range MaxCalls {
		r.slots <- new(slot)
	}
	return r
}

// DefaultThreshold is the part of a partition's write units from which on a key is hot.
const DefaultThreshold = 0.7

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
	return group.Wait()
}

// closeInterval is how often windows are looked at whether they are over.
const closeInterval = 200 * time.Millisecond

// close puts windows into history when they are over.
func (r *Reader) close(ctx context.Context) error {
	for {
		if err := sleep(ctx, closeInterval); err != nil {
			return err
		}
		r.closeWindows()
		r.tellSkew()
	}
}

func (r *Reader) closeWindows() {
	settled := r.settled()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.over.IsZero() {
		end := r.over.Add(Window)
		if end.After(settled) {
			break
		}
		p := r.parts[r.over.Unix()]
		delete(r.parts, r.over.Unix())
		r.history.add(r.window(r.over, p))
		r.over = end
	}
	for start, p := range r.parts { // what came late
		if at := time.Unix(start, 0).UTC(); at.Before(r.over) {
			r.history.amend(at, p.items)
			delete(r.parts, start)
		}
	}
}

// settled is until when all stream shards have been read.
func (r *Reader) settled() (least time.Time) {
	for _, s := range r.shards() {
		if passed := s.passedBy(); least.IsZero() || passed.Before(least) {
			least = passed
		}
	}
	return least
}

func (r *Reader) shards() []*shard {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.reading))
}

// Settled is until when all that the stream has is in the windows, but for records that come
// late: those of windows that end by then don't change any more, as a rule.
func (r *Reader) Settled() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

// windowOf is the start of the window that a time is in, not before the first one.
func (r *Reader) windowOf(t time.Time) time.Time { return r.base.Add(t.Sub(r.base).Truncate(Window)) }

// window puts together what stream shards handed on. The caller holds mu.
func (r *Reader) window(start time.Time, p *parts) heat.Window {
	if p == nil {
		p = &parts{}
	}
	items := p.items
	if len(items) == 0 { // it was read, and there was nothing
		items = []heat.Item{r.item(start)}
	}
	read := Window - max(0, r.begin.Sub(start))
	coverage := (read.Seconds() - p.lost.Seconds()/float64(max(1, len(r.reading)))) / Window.Seconds()
	for i := range items {
		if coverage < 1 {
			items[i].Coverage = max(coverage, leastCoverage)
		}
	}
	return heat.Window{Start: start, Items: items}
}

// leastCoverage stands for nothing, since 0 stands for all.
const leastCoverage = 1e-9

func (r *Reader) item(start time.Time) heat.Item {
	return heat.Item{Table: r.o.Found.Source.Table, Start: start, Window: Window, Limit: r.o.PartitionWCU, HotRate: r.hotRate()}
}

func (r *Reader) hotRate() float64 { return r.o.Threshold * r.o.PartitionWCU }

// start is called once, with the time from which on records are counted.
func (r *Reader) start(begin time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin, r.base = begin, begin
	if !r.o.AtOnce {
		r.base = begin.Truncate(Window)
	}
	r.over = r.base
}

func (r *Reader) add(s *shard) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reading[s.id] = s
}

func (r *Reader) remove(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.reading, id)
}

// hand takes a stream shard's part of a window.
func (r *Reader) hand(item *heat.Item, start time.Time, lost time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parts[start.Unix()]
	if p == nil {
		p = &parts{}
		r.parts[start.Unix()] = p
	}
	if item != nil {
		p.items = append(p.items, *item)
	}
	p.lost += lost
}

// errOver says that there is nothing to wait for.
var errOver = errors.New("the stream has ended, and no stream shard follows: was it turned off?")

func (r *Reader) tell(format string, values ...any) { r.o.Tell(fmt.Sprintf(format, values...)) }

// running are the windows that are not over, as far as they are counted. A window that a
// stream shard hands on meanwhile may be missed, but is not counted twice.
func (r *Reader) running() []heat.Window {
	all := r.handed()
	var open []heat.Item
	for _, s := range r.shards() {
		open = append(open, s.running()...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, item := range open {
		start := item.Start.Unix()
		if all[start] == nil {
			all[start] = &parts{}
		}
		all[start].items = append(all[start].items, item)
	}
	var list []heat.Window
	for start, p := range all {
		list = append(list, r.window(time.Unix(start, 0).UTC(), p))
	}
	slices.SortFunc(list, func(a, b heat.Window) int { return a.Start.Compare(b.Start) })
	return list
}

// handed is a copy of what stream shards have handed on of windows that are not over.
func (r *Reader) handed() map[int64]*parts {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[int64]*parts)
	for start, p := range r.parts {
		all[start] = &parts{slices.Clone(p.items), p.lost}
	}
	return all
}
