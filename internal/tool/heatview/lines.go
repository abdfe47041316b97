package heatview

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/jsontime"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// pollInterval is the time between two reads of complete windows from a live reader.
const pollInterval = 200 * time.Millisecond

// Print writes each complete window until ctx ends. It returns a [NoMatch] if keys were written and the index or prefix
// matched none of them, or else the error of ctx.
func Print(ctx context.Context, out io.Writer, w *Watched, o Options) error {
	p := &printer{out: out, collector: o.collector(w)}
	err := w.runWith(ctx, p.run)
	if ctx.Err() != nil {
		return cmp.Or(o.noMatch(p.written, p.matched), err)
	}
	return err
}

// collector returns a collector that keeps the windows and keys that the options show.
func (o *Options) collector(w *Watched) *collector {
	return &collector{w: w, o: o, next: o.Since}
}

type printer struct {
	*collector
	out io.Writer
}

// run prints until ctx ends.
func (p *printer) run(ctx context.Context) error {
	interval := pollInterval
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

// print writes the windows that were completed since the last call. After a transient error of the source or of the shard
// map it returns nil, and the next call begins with the failed window.
func (p *printer) print(ctx context.Context) error {
	var failed error // of the output
	err := p.readWindows(ctx, func(window heat.Window) error {
		seen, err := p.sum(ctx, time.Now())
		if err == nil {
			failed = p.write(window, seen)
		}
		return cmp.Or(err, failed)
	})
	switch {
	case failed != nil || err == nil:
		return failed
	case p.w.transient(err):
		return nil
	}
	return p.w.explain(ctx, err)
}

func (p *printer) write(w heat.Window, seen snapshot) error {
	if p.o.JSON {
		return json.NewEncoder(p.out).Encode(p.o.line(w, seen))
	}
	_, err := io.WriteString(p.out, p.o.text(w, seen))
	return err
}

// Line is a window as a line of JSON.
type Line struct {
	Start    string    `json:"start"`
	Window   string    `json:"window"`
	Keys     []LineKey `json:"keys"`
	Coverage float64   `json:"coverage"`
}

// LineKey is a key of a window.
type LineKey struct {
	Table    string  `json:"table,omitempty"` // the key's table, if it is not Options.Table
	Key      string  `json:"key"`
	Index    string  `json:"index,omitempty"`
	Status   string  `json:"status"`
	Rate     float64 `json:"write_units_per_second"`
	Error    float64 `json:"error"`
	Share    float64 `json:"share"`
	Peak     uint64  `json:"peak"`                // WCU in the key's heaviest second of the window
	Worst    string  `json:"worst"`               // the worst status of the base key in all kept windows
	CooledAt string  `json:"cooled_at,omitempty"` // end of the base key's last hot window; absent if it is hot or never was
	Advice   string  `json:"advice"`
}

// Maximum numbers of keys of a window.
const (
	lineKeys = 20 // in JSON
	textKeys = 10 // in text
)

// line returns a window's line. seen is the snapshot after the window.
func (o *Options) line(w heat.Window, seen snapshot) Line {
	l := Line{Start: httpapi.FormatTime(w.Start), Window: jsontime.Duration(live.Window).String(), Keys: []LineKey{}, Coverage: heat.Hundredths(seen.coverage)}
	groups := make(map[keyID]viewKey)
	for _, k := range seen.keys {
		groups[k.id] = k
	}
	for _, row := range o.selectRows(heat.Merge(w.Items)) {
		if len(l.Keys) == lineKeys {
			break
		}
		k := groups[o.Programs.group(&row)]
		key := LineKey{
			Table: row.TableName(), Key: o.named(row.Key), Index: row.Index, Status: row.Worst.String(), Worst: k.Worst.String(),
			Rate: heat.Hundredths(row.WriteUnitsPerSecond), Error: math.Ceil(row.Error*100) / 100, Share: math.Floor(1e4*row.WriteUnitsPerSecond/row.Limit) / 1e4,
			Peak: row.Peak, Advice: k.advice,
		}
		if key.Table == o.Table {
			key.Table = ""
		}
		if cooled := k.CooledAt(); !cooled.IsZero() {
			key.CooledAt = httpapi.FormatTime(cooled)
		}
		l.Keys = append(l.Keys, key)
	}
	return l
}

// text returns a window as text: a line for the table, and two for each key.
func (o *Options) text(w heat.Window, seen snapshot) string {
	var b strings.Builder
	read := ""
	if seen.coverage < 1 {
		read = fmt.Sprintf(", %s of it was read", percent(seen.coverage))
	}
	fmt.Fprintf(&b, "%s to %s: %s WCU/s, %d hot of %d keys%s\n", httpapi.FormatTime(w.Start), w.Start.Add(live.Window).UTC().Format(time.TimeOnly), heat.Grouped(seen.units), seen.hot, len(seen.keys), read)
	keys := slices.Clone(seen.keys)
	slices.SortFunc(keys, byRate)
	for _, k := range keys[:min(len(keys), textKeys)] {
		fmt.Fprintf(&b, "  %-9s %8s WCU/s %5s  peak %s  %s", k.statusText(), rateText(k.Current), percent(k.Current/k.row.Limit), heat.Grouped(float64(k.peak)), terminal.Visible(o.named(k.id.key)))
		if k.id.index != "" {
			fmt.Fprintf(&b, "  (index %s)", terminal.Visible(k.id.index))
		}
		if k.shards > 1 {
			fmt.Fprintf(&b, "  (%d write shards, %s WCU/s together)", k.shards, rateText(k.total()))
		}
		fmt.Fprintf(&b, "\n      %s\n", terminal.Visible(k.advice))
	}
	return b.String()
}
