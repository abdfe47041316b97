// Package windows reads what the heat table has of a time, window by window.
//
//	reader := windows.Reader{Client: client, Table: settings.HeatTable}
//	for window, err := range reader.Windows(ctx, from, to, 10*time.Second) {
//		rows := heat.Merge(window.Items)
//	}
package windows

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// Reader reads the heat table. It is a [heat.Source]: it reads layers for the time that is folded, and full items for
// the rest. Consistent selects consistent reads.
type Reader struct {
	Client     client.Querier
	Table      string
	Consistent bool
}

// All iterates over the full items of the windows that start at from or later and before to, in order of time. Only
// some pages of an hour are in memory. It ends after an error.
func (r Reader) All(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error] {
	return r.read(ctx, heat.Partitions(from, to, true), 2*heat.Salts, from, to)
}

// Alone goes through the full items that were stored alone, likewise: not those of windows that were held.
func (r Reader) Alone(ctx context.Context, from, to time.Time) iter.Seq2[heat.Window, error] {
	return r.read(ctx, heat.Partitions(from, to, false), heat.Salts, from, to)
}

// Layer iterates over a layer's items in the same way.
func (r Reader) Layer(ctx context.Context, layer heat.Layer, from, to time.Time) iter.Seq2[heat.Window, error] {
	return r.read(ctx, layer.Partitions(from, to), 1, from, to)
}

// Windows implements [heat.Source]. It reads layers that are as fine as step, and full items for the time that no layer
// has: normally the last minute or two.
func (r Reader) Windows(ctx context.Context, from, to time.Time, step time.Duration) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		progress, err := r.Progress(ctx)
		if err != nil {
			yield(heat.Window{}, err)
			return
		}
		for _, s := range cover(from, to, step, progress, heat.ByTenMinutes) {
			windows := r.All(ctx, s.from, s.to)
			if s.layer != full {
				windows = r.Layer(ctx, s.layer, s.from, s.to)
			}
			for window, err := range windows {
				if s.layer != full {
					window.Length = s.layer.Length()
				}
				if !yield(window, err) || err != nil {
					return
				}
			}
		}
	}
}

// full means the items of windows themselves, which are finer than all layers.
const full = heat.ByWindow - 1

// span is a time that is read from one layer.
type span struct {
	layer    heat.Layer
	from, to time.Time
}

// cover splits a time into spans, in order, of the coarsest layers that are fine enough and have it: this layer in the
// middle, finer ones at its ends.
func cover(from, to time.Time, step time.Duration, p heat.Progress, layer heat.Layer) []span {
	if !from.Before(to) {
		return nil
	}
	if layer == full {
		return []span{{full, from, to}}
	}
	first, last := from, to
	if first.Before(p.From) {
		first = p.From
	}
	if last.After(p.To) {
		last = p.To
	}
	if length := layer.Length(); length > 0 {
		first, last = first.Add(length-1).Truncate(length), last.Truncate(length)
	}
	if layer.Length() > step || !first.Before(last) {
		return cover(from, to, step, p, layer-1)
	}
	spans := append(cover(from, first, step, p, layer-1), span{layer, first, last})
	return append(spans, cover(last, to, step, p, layer-1)...)
}

// Progress returns the progress of the layers: the zero value if there are no layers, or if another release made them.
func (r Reader) Progress(ctx context.Context) (p heat.Progress, err error) {
	for item, err := range dynamo.Items(ctx, r.Client, r.query(heat.ProgressPartition, schema.SoleSK, schema.SoleSK)) {
		if err != nil {
			return p, fmt.Errorf("heat: reading the progress of the layers: %w", err)
		}
		if p, err = heat.ParseProgress(item); errors.Is(err, heat.ErrVersion) {
			return heat.Progress{}, nil
		}
		return p, err
	}
	return p, nil
}

// Query returns the query for the items of one partition.
func (r Reader) Query(pk string, from, to time.Time) *dynamodb.QueryInput {
	low, high := heat.SortBounds(from, to)
	return r.query(pk, low, high)
}

func (r Reader) query(pk, low, high string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName:              &r.Table,
		ConsistentRead:         &r.Consistent,
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: dynamo.Item{
			":pk": dynamo.String(pk), ":low": dynamo.String(low), ":high": dynamo.String(high),
		},
	}
}

// read iterates over the partitions, as many in parallel as one time has.
func (r Reader) read(ctx context.Context, partitions []string, salts int, from, to time.Time) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for salts := range slices.Chunk(partitions, salts) {
			if !r.time(ctx, salts, from, to, yield) {
				return
			}
		}
	}
}

// time iterates over the partitions of one time, a page of each at a time. It returns false if the iteration has ended.
func (r Reader) time(ctx context.Context, partitions []string, from, to time.Time, yield func(heat.Window, error) bool) bool {
	var feeds []*feed
	for _, pk := range partitions {
		first := from
		if heat.HeldPartition(pk) { // the first of windows that were stored together may be earlier
			first = heat.AlignDown(from, heat.MaxHold)
		}
		next, stop := iter.Pull2(dynamo.Pages(ctx, r.Client, r.Query(pk, first, to)))
		defer stop()
		feeds = append(feeds, &feed{pk: pk, next: next, from: from, to: to})
	}
	for {
		window, err := nextWindow(feeds)
		if err == nil && window.Start.IsZero() {
			return true
		}
		if !yield(window, err) || err != nil {
			return false
		}
	}
}

// nextWindow removes the earliest window from the feeds, or returns the zero window if they are empty.
func nextWindow(feeds []*feed) (w heat.Window, err error) {
	var group errgroup.Group
	for _, f := range feeds {
		group.Go(f.fill)
	}
	if err := group.Wait(); err != nil {
		return w, err
	}
	for _, f := range feeds {
		if len(f.lost) > 0 {
			w, f.lost = heat.Window{Start: f.to, Unreadable: f.lost}, nil
			return w, nil
		}
		if len(f.list) > 0 && (w.Start.IsZero() || f.list[0].start.Before(w.Start)) {
			w.Start = f.list[0].start
		}
	}
	for _, f := range feeds {
		for len(f.list) > 0 && f.list[0].start.Equal(w.Start) {
			if f.list[0].err != nil {
				w.Unreadable = append(w.Unreadable, f.list[0].err)
			} else {
				w.Items = append(w.Items, f.list[0].item)
			}
			f.pop()
			if err := f.fill(); err != nil { // a page may end within the window
				return w, err
			}
		}
	}
	return w, nil
}

// feed reads one partition, in order of time.
type feed struct {
	pk       string
	next     func() (*dynamodb.QueryOutput, error, bool)
	from, to time.Time
	list     []*read   // of the pages that were read
	reached  time.Time // no later page has an earlier window
	done     bool      // there is no later page
	lost     []error   // of items without a time, not returned yet
}

// read is an item, or the error that replaces it.
type read struct {
	start time.Time
	item  heat.Item
	err   error
	held  *heat.Held // the later windows that are stored in the same item
}

// fill reads pages until no later page has a window as early as the first one.
func (f *feed) fill() error {
	for !f.done && (len(f.list) == 0 || !f.list[0].start.Before(f.reached)) {
		page, err, more := f.next()
		if !more {
			f.done = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("heat: reading items of %q: %w", f.pk, err)
		}
		for _, attributes := range page.Items {
			f.add(attributes)
		}
	}
	return nil
}

func (f *feed) add(attributes dynamo.Item) {
	start, ok := heat.Start(attributes)
	r := new(read)
	if heat.HeldPartition(f.pk) {
		r.held, r.err = heat.ParseHeld(attributes)
	} else {
		r.item, r.err = heat.Parse(attributes)
	}
	if r.err != nil {
		r.err = fmt.Errorf("partition %q: %w", f.pk, r.err)
	}
	switch {
	case ok:
		f.reached = start
	case r.err != nil: // it must not hold up the windows behind it
		f.lost = append(f.lost, fmt.Errorf("its sort key tells no time: %v", r.err)) // no column can tell that it is missing
		return
	}
	if r.held != nil {
		f.insertNext(r.held)
		return
	}
	if r.start = later(start, f.from); r.err == nil {
		r.start = r.item.Start
	}
	f.insert(r)
}

// pop removes the first window, and puts the next one of the same item where it belongs.
func (f *feed) pop() {
	held := f.list[0].held
	f.list = f.list[1:]
	if held != nil {
		f.insertNext(held)
	}
}

// insertNext inserts the next window of the time that is read.
func (f *feed) insertNext(held *heat.Held) {
	for held.More() {
		item, err := held.Next()
		if err != nil {
			f.insert(&read{start: later(item.Start, f.from), err: fmt.Errorf("partition %q: %w", f.pk, err)})
			return
		}
		if !item.Start.Before(f.to) {
			return
		}
		if !item.Start.Before(f.from) {
			f.insert(&read{start: item.Start, item: item, held: held})
			return
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (f *feed) insert(r *read) {
	at, _ := slices.BinarySearchFunc(f.list, r.start, func(r *read, start time.Time) int {
		if r.start.After(start) {
			return 1
		}
		return -1
	})
	f.list = slices.Insert(f.list, at, r)
}
