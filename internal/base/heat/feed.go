package heat

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// feed iterates over the windows of one partition, in order of time.
type feed struct {
	pk       string
	nextPage func() (*dynamodb.QueryOutput, error)
	from, to time.Time
	buffer   []*storedWindow // windows of the pages that were read
	reached  time.Time       // later pages have no window before reached
	done     bool            // all pages were read

	itemLength time.Duration // of folded items; 0 for items of stream shards
	nextItem   time.Time     // start of the next folded item
}

// storedWindow is a window's item, or the error of an unreadable item.
type storedWindow struct {
	start time.Time
	item  Item
	err   error
	later *Decoder // of the stored item's later windows

	missing time.Duration // with err: length of the folded item; 0 for an item of a stream shard
}

// fillBuffer reads pages until the first window is certainly the partition's next one.
func (f *feed) fillBuffer() error {
	for !f.done && (len(f.buffer) == 0 || !f.buffer[0].start.Before(f.reached)) {
		page, err := f.nextPage()
		if err != nil {
			return fmt.Errorf("heat: reading the heat table's partition %q: %w", f.pk, err)
		}
		for _, attributes := range page.Items {
			f.addItem(attributes)
		}
		if len(page.LastEvaluatedKey) == 0 {
			f.done = true
			f.insertMissing(f.to)
		}
	}
	return nil
}

// insertMissing inserts an error for each missing folded item that would start at nextItem or later and before end.
func (f *feed) insertMissing(end time.Time) {
	for ; f.itemLength > 0 && f.nextItem.Before(end); f.nextItem = f.nextItem.Add(f.itemLength) {
		f.insertFault(f.nextItem, fmt.Errorf("the item of %s is missing, so its time %w", f.nextItem.Format(time.RFC3339), ErrIncomplete))
	}
}

// addItem inserts the first window of each table in a stored item, its errors, and those of items missing before it.
func (f *feed) addItem(attributes dynamo.Item) {
	start, hasStart := Start(attributes)
	tables, incomplete, err := Open(attributes)
	if hasStart {
		f.reached = start
		f.insertMissing(start)
		f.nextItem = start.Add(f.itemLength)
	}
	if incomplete && err == nil {
		f.insertFault(start, fmt.Errorf("the item of %s %w", start.Format(time.RFC3339), ErrIncomplete))
	}
	switch {
	case err == nil:
		for _, windows := range tables {
			f.insertNext(windows)
		}
	case hasStart:
		f.insertFault(start, err)
	default:
		f.insertFault(f.to, fmt.Errorf("no time in the sort key: %w", err))
	}
}

// pop removes the first window, and inserts the next window of the same stored item.
func (f *feed) pop() {
	rest := f.buffer[0].later
	f.buffer = f.buffer[1:]
	if rest != nil {
		f.insertNext(rest)
	}
}

// insertNext inserts the stored item's next window in the feed's time range, if there is one.
func (f *feed) insertNext(windows *Decoder) {
	for windows.More() {
		item, err := windows.Next()
		switch {
		case err != nil:
			f.insertFault(item.Start, err)
			return
		case !item.Start.Before(f.to):
			return
		case !item.Start.Before(f.from):
			f.insert(&storedWindow{start: item.Start, item: item, later: windows})
			return
		}
	}
}

// insertFault inserts an error as the window that starts at start, or at the nearer end of the feed's time range if start is
// outside.
func (f *feed) insertFault(start time.Time, err error) {
	start = MinTime(MaxTime(start, f.from), f.to)
	f.insert(&storedWindow{start: start, err: fmt.Errorf("partition %q: %w", f.pk, err), missing: f.itemLength})
}

// insert inserts a window into the list, after the windows with the same start.
func (f *feed) insert(w *storedWindow) {
	at := sort.Search(len(f.buffer), func(i int) bool { return f.buffer[i].start.After(w.start) })
	f.buffer = slices.Insert(f.buffer, at, w)
}

// nextWindow removes the earliest window from the feeds. It returns the zero window if they are empty.
func nextWindow(feeds []*feed) (w Window, err error) {
	var group errgroup.Group
	for _, f := range feeds {
		group.Go(f.fillBuffer)
	}
	if err := group.Wait(); err != nil {
		return w, err
	}
	for _, f := range feeds {
		if len(f.buffer) > 0 && (w.Start.IsZero() || f.buffer[0].start.Before(w.Start)) {
			w.Start = f.buffer[0].start
		}
	}
	for _, f := range feeds {
		for len(f.buffer) > 0 && f.buffer[0].start.Equal(w.Start) {
			if f.buffer[0].err != nil {
				w.Unreadable = append(w.Unreadable, f.buffer[0].err)
				w.Length = max(w.Length, f.buffer[0].missing)
			} else {
				w.Items = append(w.Items, f.buffer[0].item)
			}
			f.pop()
			if err := f.fillBuffer(); err != nil { // a page may end within the window
				return w, err
			}
		}
	}
	return w, nil
}
