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

	// From and To bound the time. ReadPast rounds both down to whole windows. If records' times are truncated to the minute,
	// it extends To to the end of its minute.
	From, To time.Time

	Within       time.Duration // how long reading may take
	PartitionWCU float64       // a partition's limit in WCU/s, 1,000 by default
	Seed         uint64        // of the random choice of windows

	// Notify receives messages for the operator, Progress the number of windows that were read or skipped. Both may be nil.
	Notify   func(sentence string)
	Progress func(passed, all int)
}

// Past has the windows that ReadPast read. It implements [heat.Source].
type Past struct {
	From, To time.Time // whole windows

	windows     []heat.Window // in order of time
	enabledLate bool          // whether the stream was enabled after PastOptions.From; then From is that time
}

// CountWindows returns the number of windows that were read, and of all windows from From to To.
func (p *Past) CountWindows() (read, all int) { return len(p.windows), int(p.To.Sub(p.From) / Window) }

// Records returns the number of records in the windows that were read.
func (p *Past) Records() (n uint64) {
	for _, w := range p.windows {
		for i := range w.Items {
			n += w.Items[i].Records
		}
	}
	return n
}

// Windows implements [heat.Source]. It yields only windows that were read, each with all records of its time. A window
// without writes has an item without keys.
func (p *Past) Windows(_ context.Context, from, to time.Time, _ time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for _, w := range windowsBetween(p.windows, from, to) {
			if !yield(w, nil) {
				return
			}
		}
	}
}

// Bounds of reading the past.
const (
	pastKeys     = 128                        // keys that a window keeps, besides hot keys: a day takes at most some 150 MB
	recordAge    = 24*time.Hour - time.Minute // how long a stream certainly keeps a record
	retryTimeout = 5 * time.Minute            // how long a failing call is retried
)

// ReadPast reads a stream's past in windows of 10 s. It polls each stream shard of AWS at most once a second. If it
// can't read all windows in time, it reads random windows, about equally far apart. It reads the same windows of all
// stream shards, so either all records of a window are counted, or none.
//
// A service without AT_TIMESTAMP, such as DynamoDB Local, is read from its oldest record on, until the time is over.
//
// ReadPast returns an error if ctx ends, no window was read in time, the service throttles, or calls fail for 5 minutes.
func ReadPast(ctx context.Context, options PastOptions) (*Past, error) {
	options.PartitionWCU = cmp.Or(options.PartitionWCU, plan.PartitionWriteUnits)
	reader := &pastReader{o: options, began: time.Now(), link: newLink(options.Notify), random: rand.New(rand.NewPCG(options.Seed, 0))}
	reader.past = &Past{From: options.From.UTC().Truncate(Window), To: options.To.UTC().Truncate(Window)}
	enabled := streamEnabled(options.Found.Stream)
	if !eventsource.IsEngine(options.Found.Stream) && enabled.After(reader.past.From) && enabled.Before(reader.past.To) {
		reader.past.From, reader.past.enabledLate = enabled.Truncate(time.Minute), true
	}
	withDeadline, stop := context.WithDeadline(ctx, reader.began.Add(options.Within))
	defer stop()
	err := reader.run(withDeadline)
	timeIsOver := ctx.Err() == nil && withDeadline.Err() != nil && errors.Is(err, context.DeadlineExceeded)
	switch {
	case timeIsOver && len(reader.past.windows) == 0:
		return nil, fmt.Errorf("no window of the stream was read within %v", options.Within)
	case err != nil && !timeIsOver:
		return nil, explainError(err)
	}
	return reader.past, nil
}

// streamEnabled returns the time at which a stream was enabled, from the end of its ARN; zero if the ARN has none.
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
	seeks  bool // whether the service can seek to a time

	began         time.Time
	polledWindows int // windows that took calls
}

// run reads the windows of the past. It extends the past to the end of its last minute if records' times are truncated to the minute.
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

// readWindows reads the windows from start to end. It skips windows whose records the stream no longer keeps, and, if the
// time is too short for all, those that nextWindow leaves out.
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
	err := r.link.retry(ctx, "", retryTimeout, func() (err error) {
		if list, err = r.stream.Shards(ctx); err != nil {
			return err
		}
		r.seeks, err = r.stream.FindsTimes(ctx, list, r.past.From)
		return err
	})
	if err != nil {
		return err
	}
	for _, shard := range list {
		r.shards = append(r.shards, r.newShard(shard))
	}
	if !r.seeks {
		r.link.notify("This service can't seek to a time, so the stream is read from its oldest record.")
	}
	return nil
}

// readWindow reads the window of this start on all stream shards, concurrently.
func (r *pastReader) readWindow(ctx context.Context, start time.Time) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(MaxCalls)
	needsCall := false
	for _, shard := range r.shards {
		if !shard.covers(start) {
			needsCall = true
			group.Go(func() error { return shard.read(ctx, start) })
		}
	}
	if needsCall {
		r.polledWindows++
	}
	return group.Wait()
}

// addWindow adds the window of this start, which was read on all stream shards, to the past.
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

// newestWindows is the number of newest windows that are always read: they decide which keys are hot at the end.
const newestWindows = 2

// nextWindow returns the start of the next window to read: end, the end of the last window, or if the time is too short
// for all windows, a random number of windows later. If no time is left, only the newest follow. It never skips a
// window that needs no call.
func (r *pastReader) nextWindow(end time.Time) time.Time {
	left := float64(r.past.To.Sub(end) / Window) // number of windows
	needsCall := slices.ContainsFunc(r.shards, func(s *pastShard) bool { return !s.covers(end) })
	if !r.seeks || left <= newestWindows || !needsCall {
		return end
	}
	spent, polled := time.Since(r.began), float64(max(r.polledWindows, 1))
	timePerPolled := float64(spent) / polled
	affordable := float64(r.o.Within*9/10-spent) / timePerPolled // windows that can be polled in 90 % of Within
	if affordable <= 0 {
		return r.past.To.Add(-newestWindows * Window)
	}
	readPerPolled := float64(len(r.past.windows)) / polled
	meanSkip := left/affordable - readPerPolled
	if meanSkip <= 0 {
		return end
	}
	skip := min(meanSkip*(0.5+r.random.Float64()), left-newestWindows)
	return end.Add(Window * time.Duration(skip))
}

// Coverage returns sentences on what was read, and what it means for the figures.
func (p *Past) Coverage() string {
	read, all := p.CountWindows()
	span := fmt.Sprintf("from %s to %s UTC", p.From.Format(time.DateTime), p.To.Format(time.DateTime))
	enabled := ""
	if p.enabledLate {
		enabled = " The stream has no older records: it was enabled then."
	}
	if read == all {
		return fmt.Sprintf("Every record %s was read.%s", span, enabled)
	}
	return fmt.Sprintf("%.1f%% of the stream %s was read: %d of its %d windows of %v. Maxima and statuses are those of these windows: a storm between two of them is missing. Means are estimates.%s",
		max(0.1, min(99.9, 100*float64(read)/float64(all))), span, read, all, Window, enabled)
}
