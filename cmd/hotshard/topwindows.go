package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/tool/live"
)

// heatFeed is the heat of a table or a deployment, as it is counted.
type heatFeed struct {
	Source       heat.Source
	Settled      func() time.Time                   // returns the time before which windows are complete
	Run          func(context.Context) error        // reads the stream; nil if another process reads it
	Shards       query.ShardCounts                  // nil if no key has write shards
	ExplainError func(context.Context, error) error // returns an error of Source or Shards with what to do about it

	Name    string   // of the table or the deployment
	Where   string   // as [heatFlags.where] returns it
	Indexes []string // the tables' global indexes
}

// heatItemLag is the usual time from a window's end until its heat items are written.
const heatItemLag = 10 * time.Second

// viewOptions say which keys are shown, and how.
type viewOptions struct {
	Table  string // a line of JSON names a key's table only if that is another
	Index  string // only partition keys of this index; "" for all
	Prefix string // only keys that begin with this text
	JSON   bool   // lines of JSON instead of a table
	Hash   bool   // pseudonyms instead of keys

	Commands display.Commands // for the command lines in advice
}

// selects reports whether the options select a key.
func (o *viewOptions) selects(key, index string) bool {
	return strings.HasPrefix(key, o.Prefix) && (o.Index == "" || index == o.Index)
}

// nameOf returns what a table shows for a key: with Hash its pseudonym, else its base key or, if it has none, the stored key.
func (o *viewOptions) nameOf(k *query.HotKey) string {
	switch {
	case o.Hash:
		return k.Hash
	case k.Type != "other":
		return schema.BaseKey{Type: schema.Kind(k.Type), Name: k.Name}.String()
	}
	return k.Key
}

// Intervals between reads of complete windows.
const (
	liveInterval  = 200 * time.Millisecond // from this process's memory
	stackInterval = 5 * time.Second        // from DynamoDB
)

// printWindows writes each window that is completed from now on, until ctx ends: a line of JSON, or a table, which replaces
// the last one if out is a terminal. It returns the error of ctx, or of the source.
func printWindows(ctx context.Context, out io.Writer, feed *heatFeed, options viewOptions) error {
	settled := feed.Settled()
	p := &printer{feed: feed, options: options, out: out, next: settled, length: live.Window, shown: settled}
	p.heat = query.NewHeat(feed.Source, query.HeatOptions{Shards: feed.Shards, Table: options.Table, Now: time.Now, Commands: options.Commands})
	group, running := errgroup.WithContext(ctx)
	if feed.Run != nil {
		group.Go(func() error { return feed.Run(running) })
	}
	group.Go(func() error { return p.run(running) })
	return group.Wait()
}

// printer prints windows.
type printer struct {
	feed    *heatFeed
	options viewOptions
	out     io.Writer
	heat    *query.Heat

	next    time.Time     // start of the next read from the source
	length  time.Duration // of the newest window with counts
	shown   time.Time     // end of the newest printed window
	written time.Time     // end of the newest printed window with writes, or start of the first window; zero before it
}

// run prints windows until ctx ends. It returns the error of ctx, or of the source.
func (p *printer) run(ctx context.Context) error {
	interval := liveInterval
	if p.feed.Run == nil {
		interval = stackInterval
	}
	for dynamo.Pause(ctx, interval) {
		if err := p.print(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// print writes the windows that were completed since the last call. After a transient error of the source or of the
// shard map it returns nil, and the next call begins with the failed window.
func (p *printer) print(ctx context.Context) error {
	settled := p.feed.Settled()
	for window, err := range p.windows(ctx, settled) {
		if err != nil {
			return p.unlessTransient(ctx, err)
		}
		if window.Start.Add(live.Window).After(settled) { // not complete
			return nil
		}
		text, err := p.windowText(ctx, window)
		if err != nil {
			return p.unlessTransient(ctx, err)
		}
		if _, err := io.WriteString(p.out, text); err != nil {
			return err
		}
		p.shown = heat.MaxTime(p.shown, window.Start.Add(p.length))
		if len(window.Items)+len(window.Unreadable) > 0 { // counts of an empty window may come late
			p.next = window.Start.Add(time.Millisecond) // excludes this window from the next read
		}
	}
	return nil
}

// windows returns the windows that the source has since the last call. A deployment stores no counts of windows without
// writes: a table shows an empty one in place of each, a window later, since counts may come late.
func (p *printer) windows(ctx context.Context, settled time.Time) iter.Seq2[heat.Window, error] {
	return func(yield func(heat.Window, error) bool) {
		for window, err := range p.feed.Source.Windows(ctx, p.next, settled, live.Window) {
			if !yield(window, err) {
				return
			}
		}
		if empty := settled.Truncate(p.length).Add(-2 * p.length); p.feed.Run == nil && !p.options.JSON && !empty.Before(p.shown) {
			yield(heat.Window{Start: empty}, nil)
		}
	}
}

// unlessTransient returns nil if an error is transient, and otherwise the error with what to do about it.
func (p *printer) unlessTransient(ctx context.Context, err error) error {
	if eventsource.IsTransient(err) {
		return nil
	}
	return p.feed.ExplainError(ctx, err)
}

// windowText returns a window as it is printed. It also updates p.written.
func (p *printer) windowText(ctx context.Context, window heat.Window) (string, error) {
	rows := heat.Merge(window.Items)
	if p.written.IsZero() {
		p.written = window.Start
	}
	if len(window.Items) > 0 {
		p.length = window.Items[0].Window
	}
	end := window.Start.Add(p.length)
	if len(rows) > 0 {
		p.written = heat.MaxTime(p.written, end)
	}
	if p.options.JSON {
		selected := slices.DeleteFunc(rows, func(row heat.KeyHeat) bool { return !p.options.selects(row.Key, row.Index) })
		return p.options.jsonLine(window, selected)
	}
	keys, err := p.selectedKeys(ctx)
	if err != nil {
		return "", err
	}
	return screenOf(p.out).table(p.title(window), p.quietLine(end), limitOf(window), keys, p.options.nameOf), nil
}

// quietLine returns the line for a time without writes before the end of a window, or "".
func (p *printer) quietLine(end time.Time) string {
	quiet := end.Sub(p.written)
	if quiet <= 0 {
		return ""
	}
	return fmt.Sprintf("%s: no writes seen for %.0f s", p.feed.Name, quiet.Seconds())
}

// Bounds of a table.
const (
	shownTime = 15 * time.Minute // how long a key that was hot is listed
	tableKeys = 50               // keys that are read without Index and Prefix
	allKeys   = 10_000           // keys that are read before Index and Prefix select some of them
)

// selectedKeys returns the keys that the options select, in the order of GET /v1/hot-keys: hot keys first.
func (p *printer) selectedKeys(ctx context.Context) (selected []query.HotKey, err error) {
	limit := tableKeys
	if p.options.Index != "" || p.options.Prefix != "" {
		limit = allKeys
	}
	keys, _, err := p.heat.HotKeys(ctx, shownTime, limit, time.Now())
	for _, k := range keys {
		if p.options.selects(k.Key, k.Index) {
			selected = append(selected, k)
		}
	}
	return selected, err
}

// title returns the line above a table: the name, the window's time, its write rate, and the share that was read.
func (p *printer) title(window heat.Window) string {
	var wcu float64
	for _, item := range window.Items {
		wcu += float64(item.Units) / item.Window.Seconds()
	}
	text := fmt.Sprintf("%s, %s: %s to %s UTC, %s WCU/s", p.feed.Name, p.feed.Where,
		window.Start.UTC().Format(time.TimeOnly), window.Start.Add(live.Window).UTC().Format(time.TimeOnly), heat.Grouped(wcu))
	if read := coverage(window); read < 1 {
		text += fmt.Sprintf(", %s of it was read", percentText(read))
	}
	return text
}

// coverage returns the share of a window that was read, 0 to 1. An item's coverage of 0 means 1.
func coverage(window heat.Window) float64 {
	read := 1 - window.Unread()
	for _, item := range window.Items {
		read = min(read, cmp.Or(item.Coverage, 1))
	}
	return read
}

// limitOf returns a partition's limit in WCU/s; 0 if the window has no items.
func limitOf(window heat.Window) float64 {
	if len(window.Items) == 0 {
		return 0
	}
	return window.Items[0].Limit
}
