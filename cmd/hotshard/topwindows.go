package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
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

// heatFeed is a table whose heat is shown.
type heatFeed struct {
	Source  heat.Source
	Settled func() time.Time                   // returns the time before which windows are complete
	Run     func(context.Context) error        // reads the stream; nil if another process reads it
	Shards  query.ShardCounts                  // nil if no key has write shards
	Explain func(context.Context, error) error // returns an error of Source or Shards with what to do about it

	Name    string   // of the table or the deployment
	Where   string   // as [heatFrom.where] returns it
	Indexes []string // the table's indexes
}

// lag is the usual time from a window's end until its heat items are written.
const lag = 10 * time.Second

// viewOptions select the keys to show, and the form.
type viewOptions struct {
	Table  string // a line of JSON has the table of a key only if that is another one
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

// nameOf returns a key as a table shows it: a base key or another key as it is stored, or a pseudonym.
func (o *viewOptions) nameOf(k *query.HotKey) string {
	switch {
	case o.Hash:
		return k.Hash
	case k.Type != "other":
		return schema.BaseKey{Type: schema.Kind(k.Type), Name: k.Name}.String()
	}
	return k.Key
}

// Intervals between reads: a live reader is in this process, a stack's heat is read from DynamoDB.
const (
	liveInterval  = 200 * time.Millisecond
	stackInterval = 5 * time.Second
)

// printWindows writes each window that is completed from now on, until ctx ends: a line of JSON, or a table, which replaces
// the last one if out is a terminal. It returns the error of ctx, or of the source.
func printWindows(ctx context.Context, out io.Writer, w *heatFeed, o viewOptions) error {
	p := &printer{w: w, o: o, out: out, next: w.Settled()}
	p.heat = query.NewHeat(w.Source, query.HeatOptions{Shards: w.Shards, Table: o.Table, Now: time.Now, Commands: o.Commands})
	group, running := errgroup.WithContext(ctx)
	if w.Run != nil {
		group.Go(func() error { return w.Run(running) })
	}
	group.Go(func() error { return p.run(running) })
	return group.Wait()
}

// printer prints windows.
type printer struct {
	w    *heatFeed
	o    viewOptions
	out  io.Writer
	heat *query.Heat

	next  time.Time     // start of the next read from the source
	quiet time.Duration // how long no write was seen, up to the end of the newest window
}

// run prints windows until ctx ends. It returns the error of ctx, or of the source.
func (p *printer) run(ctx context.Context) error {
	interval := liveInterval
	if p.w.Run == nil {
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
	settled := p.w.Settled()
	for window, err := range p.w.Source.Windows(ctx, p.next, settled, live.Window) {
		if err != nil {
			return p.explain(ctx, err)
		}
		if complete := !window.Start.Add(live.Window).After(settled); !complete {
			return nil
		}
		text, err := p.text(ctx, window)
		if err != nil {
			return p.explain(ctx, err)
		}
		if _, err := io.WriteString(p.out, text); err != nil {
			return err
		}
		p.next = window.Start.Add(time.Millisecond)
	}
	return nil
}

// explain returns nil for a transient error, and otherwise the error with what to do about it.
func (p *printer) explain(ctx context.Context, err error) error {
	if eventsource.IsTransient(err) {
		return nil
	}
	return p.w.Explain(ctx, err)
}

// text returns a window as it is printed. It also updates p.quiet.
func (p *printer) text(ctx context.Context, w heat.Window) (string, error) {
	rows := heat.Merge(w.Items)
	p.quiet += live.Window
	if len(rows) > 0 {
		p.quiet = 0
	}
	if p.o.JSON {
		selected := slices.DeleteFunc(rows, func(row heat.KeyHeat) bool { return !p.o.selects(row.Key, row.Index) })
		return p.o.line(w, selected)
	}
	keys, err := p.keys(ctx)
	if err != nil {
		return "", err
	}
	return screenOf(p.out).table(p.title(w), p.quietLine(), limitOf(w), keys, p.o.nameOf), nil
}

// quietLine returns the line for a time without writes, or "".
func (p *printer) quietLine() string {
	if p.quiet == 0 {
		return ""
	}
	return fmt.Sprintf("%s: no writes seen for %.0f s", p.w.Name, p.quiet.Seconds())
}

// Bounds of a table.
const (
	shownTime = 15 * time.Minute // a key that was hot is listed for so long
	tableKeys = 50
	allKeys   = 10_000 // keys that are read if the options select some of them
)

// keys returns the selected keys in the order of GET /v1/hot-keys: hot ones first.
func (p *printer) keys(ctx context.Context) (selected []query.HotKey, err error) {
	limit := tableKeys
	if p.o.Index != "" || p.o.Prefix != "" {
		limit = allKeys
	}
	keys, err := p.heat.HotKeys(ctx, shownTime, limit, time.Now())
	for _, k := range keys {
		if p.o.selects(k.Key, k.Index) {
			selected = append(selected, k)
		}
	}
	return selected, err
}

// title returns the line above a table.
func (p *printer) title(w heat.Window) string {
	var units float64
	for _, it := range w.Items {
		units += float64(it.Units) / it.Window.Seconds()
	}
	text := fmt.Sprintf("%s, %s: %s to %s UTC, %s WCU/s", p.w.Name, p.w.Where,
		w.Start.UTC().Format(time.TimeOnly), w.Start.Add(live.Window).UTC().Format(time.TimeOnly), heat.Grouped(units))
	if read := coverage(w); read < 1 {
		text += fmt.Sprintf(", %s of it was read", percent(read))
	}
	return text
}

// coverage returns the share of a window that was read, 0 to 1.
func coverage(w heat.Window) float64 {
	read := 1 - w.Unread()
	for _, it := range w.Items {
		read = min(read, cmp.Or(it.Coverage, 1))
	}
	return read
}

// limitOf returns a partition's limit in WCU/s; 0 if the window has no items.
func limitOf(w heat.Window) float64 {
	if len(w.Items) == 0 {
		return 0
	}
	return w.Items[0].Limit
}
