package heatview

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/live"
	"github.com/hotshard/hotshard/internal/terminal"
)

// lookInterval is how often it is looked whether a window of a live reader is over.
const lookInterval = 200 * time.Millisecond

// Print writes each window once it is over, until ctx ends.
func Print(ctx context.Context, out io.Writer, w *Watched, o Options) error {
	return w.reading(ctx, func(ctx context.Context) error { return printWindows(ctx, out, w, o) })
}

func printWindows(ctx context.Context, out io.Writer, w *Watched, o Options) error {
	interval := lookInterval
	if w.Run == nil {
		interval = stackInterval
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	from := o.Since
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		to := w.Settled()
		for window, err := range w.Source.Windows(ctx, from, to, live.Window) {
			if err != nil {
				return err
			}
			if window.Start.Add(live.Window).After(to) {
				break // more of it may come
			}
			if err := o.write(out, o.line(window)); err != nil {
				return err
			}
			from = window.Start.Add(time.Millisecond)
		}
	}
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
	Table  string  `json:"table,omitempty"` // of a key of a stack, if it is not hotshard's own
	Key    string  `json:"key"`
	Index  string  `json:"index,omitempty"`
	Status string  `json:"status"`
	Rate   float64 `json:"write_units_per_second"`
	Error  float64 `json:"error"`
	Share  float64 `json:"share"`
}

// lineKeys is how many keys a window is shown with.
const lineKeys = 20

// line is what there is to tell of a window.
func (o *Options) line(w heat.Window) Line {
	l := Line{Start: httpapi.FormatTime(w.Start), Keys: []LineKey{}, Coverage: 1}
	for _, it := range w.Items {
		l.Window = terminal.Duration(it.Window)
		if it.Coverage > 0 {
			l.Coverage = min(l.Coverage, hundredths(it.Coverage))
		}
	}
	for _, row := range o.keep(heat.Merge(w.Items)) {
		if len(l.Keys) == lineKeys {
			break
		}
		table := row.Table
		if table == o.Table {
			table = ""
		}
		l.Keys = append(l.Keys, LineKey{
			Table: table, Key: o.named(row.Key), Index: row.Index, Status: row.Status.String(),
			Rate: hundredths(row.WriteUnitsPerSecond), Error: math.Ceil(row.Error*100) / 100, Share: math.Floor(1e4*row.WriteUnitsPerSecond/row.Limit) / 1e4,
		})
	}
	return l
}

// hundredths rounds down: rates and coverage are lower bounds.
func hundredths(v float64) float64 { return math.Floor(v*100) / 100 }

func (o *Options) write(out io.Writer, l Line) error {
	if o.JSON {
		return json.NewEncoder(out).Encode(l)
	}
	t := terminal.NewTable("key", "index", "status", "units/s", "error", "share")
	for _, k := range l.Keys {
		t.Row(terminal.Name(k.Key), terminal.Name(k.Index), k.Status, fmt.Sprintf("%.1f", k.Rate), fmt.Sprintf("%.1f", k.Error), fmt.Sprintf("%.0f %%", math.Floor(100*k.Share)))
	}
	_, err := fmt.Fprintf(out, "%s, %s, coverage %.0f %%\n%s\n", l.Start, l.Window, math.Floor(100*l.Coverage), t.Render())
	return err
}
