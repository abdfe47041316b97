package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// PastOptions select what ReadPast reads.
type PastOptions struct {
	Streams *dynamodbstreams.Client
	Found   Found

	// From and To bound the time. ReadPast extends them to whole windows, and To to a whole minute if the records have
	// the time of their minute.
	From, To time.Time

	Within       time.Duration // how long reading may take
	PartitionWCU float64       // a partition's limit in WCU/s, 1,000 by default
	Seed         uint64        // of the random choice of windows

	// Notify receives messages for the operator. Progress receives the number of windows that were passed, read or
	// skipped, and of all windows. Both may be nil.
	Notify   func(sentence string)
	Progress func(passed, of int)
}

// Past has the windows that ReadPast read. It implements [heat.Source].
type Past struct {
	From, To time.Time // whole windows

	windows     []heat.Window // in order of time
	enabledLate bool          // the stream was enabled at From, later than requested
}

// Read returns the number of windows that were read, and the number of all windows.
func (p *Past) Read() (read, of int) { return len(p.windows), int(p.To.Sub(p.From) / Window) }

// Records returns the number of records in the windows that were read.
func (p *Past) Records() (n uint64) {
	for _, w := range p.windows {
		for i := range w.Items {
			n += w.Items[i].Records
		}
	}
	return n
}

// Windows implements [heat.Source]. Each window has all records of its time. Windows that were not read are absent. A
// window that was read and has no writes has an item without keys.
func (p *Past) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for _, w := range between(p.windows, from, to) {
			if !yield(w, nil) {
				return
			}
		}
	}
}

// pastKeys is the number of keys that a window keeps, besides hot ones. A day then takes at most some 150 MB.
const pastKeys = 128

// recordAge is how long a stream certainly keeps a record.
const recordAge = 24*time.Hour - time.Minute

// retryTime is how long a failing call is retried.
const retryTime = 5 * time.Minute

// ReadPast reads a stream's past in windows of 10 s, with at most one poll a second of each stream shard. If it can't
// read all windows in time, it reads random windows, which are about equally far apart. They are the same on all stream
// shards, so the records of a window are either all counted or none.
//
// A service without AT_TIMESTAMP, such as DynamoDB Local, is read from its oldest record on. When the time is over, the
// remaining windows are not read. ReadPast returns an error if ctx ends, if no window was read in time, at the first
// throttle, and if the connection fails for 5 minutes.
func ReadPast(ctx context.Context, options PastOptions) (*Past, error) {
	options.PartitionWCU = cmp.Or(options.PartitionWCU, plan.PartitionWriteUnits)
	reader := &pastReader{o: options, began: time.Now(), link: newLink(options.Notify), random: rand.New(rand.NewPCG(options.Seed, 0))}
	reader.past = &Past{From: options.From.UTC().Truncate(Window), To: options.To.UTC().Truncate(Window)}
	enabled := streamEnabled(options.Found.Stream)
	if !eventsource.IsEngine(options.Found.Stream) && enabled.After(reader.past.From) && enabled.Before(reader.past.To) {
		reader.past.From, reader.past.enabledLate = enabled.Truncate(time.Minute), true
	}
	inTime, stop := context.WithDeadline(ctx, reader.began.Add(options.Within))
	defer stop()
	err := reader.run(inTime)
	timeIsOver := ctx.Err() == nil && inTime.Err() != nil
	if timeIsOver && errors.Is(err, context.DeadlineExceeded) {
		err = nil
		if len(reader.past.windows) == 0 {
			err = fmt.Errorf("no window was read within %v", options.Within)
		}
	}
	if err != nil {
		return nil, explainError(err)
	}
	return reader.past, nil
}

// streamEnabled returns when a stream was enabled, which its ARN ends with; zero if it doesn't.
func streamEnabled(arn string) time.Time {
	_, label, _ := strings.Cut(arn, "/stream/")
	enabled, _ := time.Parse("2006-01-02T15:04:05.000", label) // zero after an error
	return enabled
}

// pastReader reads the windows of a Past.
type pastReader struct {
	o      PastOptions
	past   *Past
	link   *link
	stream *eventsource.Stream
	random *rand.Rand
	shards []*pastShard
	seeks  bool // the service can seek to a time

	began         time.Time
	polledWindows int // windows that took calls
}

func (r *pastReader) run(ctx context.Context) error {
	if err := r.listShards(ctx); err != nil {
		return err
	}
	err := r.readWindows(ctx, r.past.From, r.past.To)
	minuteTimes := slices.ContainsFunc(r.shards, func(s *pastShard) bool { return s.minuteTimes })
	if err != nil || r.stream.Exact() || !minuteTimes {
		return err
	}
	readTo := r.past.To
	r.past.To = r.o.To.UTC().Truncate(time.Minute).Add(time.Minute) // records of the whole minute may be earlier than To
	return r.readWindows(ctx, readTo, r.past.To)
}

// readWindows reads windows from start to end.
func (r *pastReader) readWindows(ctx context.Context, start, end time.Time) error {
	for start.Before(end) {
		if r.seeks && time.Since(start) > recordAge { // reading an expired time would begin at the oldest record
			start = start.Add(Window)
			continue
		}
		err := r.readWindow(ctx, start)
		if err == nil {
			r.addWindow(start)
		} else if !eventsource.IsTrimmed(err) {
			return err
		}
		start = r.nextWindow(start.Add(Window))
		if r.o.Progress != nil {
			r.o.Progress(int(start.Sub(r.past.From)/Window), int(r.past.To.Sub(r.past.From)/Window))
		}
	}
	return nil
}

// listShards lists the stream shards, and finds out whether the service can seek to a time.
func (r *pastReader) listShards(ctx context.Context) error {
	r.stream = eventsource.NewStream(r.o.Streams, r.o.Found.Stream, r.o.Found.View)
	var list []eventsource.Shard
	err := r.link.persist(ctx, "", retryTime, func() (err error) {
		if list, err = r.stream.Shards(ctx); err == nil {
			r.seeks, err = r.stream.FindsTimes(ctx, list, r.past.From)
		}
		return err
	})
	for _, shard := range list {
		r.shards = append(r.shards, r.newShard(shard))
	}
	if err == nil && !r.seeks && r.o.Notify != nil {
		r.o.Notify("This service can't seek to a time, so the stream is read from its oldest record.")
	}
	return err
}

// readWindow reads a window on all stream shards.
func (r *pastReader) readWindow(ctx context.Context, start time.Time) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxCalls)
	polls := false
	for _, shard := range r.shards {
		if !shard.covers(start) {
			polls = true
			group.Go(func() error { return shard.read(ctx, start) })
		}
	}
	if polls {
		r.polledWindows++
	}
	return group.Wait()
}

// addWindow adds a window that all stream shards have read.
func (r *pastReader) addWindow(start time.Time) {
	blank := heat.Item{Table: r.o.Found.Source.Table, Start: start, Window: Window, Limit: r.o.PartitionWCU, HotRate: Threshold * r.o.PartitionWCU}
	var items []heat.Item
	for _, shard := range r.shards {
		if counts := shard.takeCounts(start); counts != nil {
			item := counts.Item(shard.id, "", blank.Limit, blank.HotRate)
			item.Table = blank.Table
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		items = []heat.Item{blank}
	}
	items = heat.FoldAll(items, start, Window)
	for i := range items {
		items[i] = items[i].Heaviest(pastKeys)
	}
	r.past.windows = append(r.past.windows, heat.Window{Start: start, Items: items})
}

// newestWindows is the number of newest windows that are not skipped: they decide which keys are hot at the end.
const newestWindows = 2

// nextWindow returns the start of the next window to read, which is end if there is time to read all windows. It skips no
// window that needs no call, and none of the newestWindows.
func (r *pastReader) nextWindow(end time.Time) time.Time {
	left := float64(r.past.To.Sub(end) / Window)
	needsCall := slices.ContainsFunc(r.shards, func(s *pastShard) bool { return !s.covers(end) })
	if !r.seeks || left <= newestWindows || !needsCall {
		return end
	}
	spent, polled := time.Since(r.began), float64(max(r.polledWindows, 1))
	timeOfPolled := float64(spent) / polled
	canPoll := float64(r.o.Within*9/10-spent) / timeOfPolled // number of further windows
	if canPoll <= 0 {
		return r.past.To.Add(-newestWindows * Window)
	}
	readPerPolled := float64(len(r.past.windows)) / polled
	gap := left/canPoll - readPerPolled
	if gap <= 0 {
		return end
	}
	return end.Add(Window * time.Duration(min(gap*(0.5+r.random.Float64()), left-newestWindows)))
}

// Coverage returns sentences on what was read, and what it means for the figures.
func (p *Past) Coverage() string {
	read, of := p.Read()
	span := fmt.Sprintf("from %s to %s UTC", p.From.Format(time.DateTime), p.To.Format(time.DateTime))
	begun := ""
	if p.enabledLate {
		begun = " The stream has no older records: it was enabled then."
	}
	if read == of {
		return fmt.Sprintf("Every record %s was read.%s", span, begun)
	}
	return fmt.Sprintf("%.1f%% of the stream %s was read: %d of its %d windows of %v. Maxima and statuses are those of these windows: a storm between two of them is missing. Means are estimates.%s",
		max(0.1, min(99.9, 100*float64(read)/float64(of))), span, read, of, Window, begun)
}
