package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/live"
)

// TopCmd is hotshard top.
type TopCmd struct {
	heatFrom
	Since    time.Duration `placeholder:"15m" help:"Begin with what was so long before, 10s to 24h. Default: 15m with --stack; with --table the stream is read from now on, without history."`
	Index    string        `placeholder:"NAME" help:"Only partition keys of this index."`
	Prefix   string        `placeholder:"TEXT" help:"Only keys that begin with this."`
	JSON     bool          `name:"json" help:"A line of JSON a window, in the place of a table or of the terminal's view."`
	Hash     bool          `help:"Show 16 digits of SHA-256 in the place of keys."`
	Duration time.Duration `placeholder:"60s" help:"Stop after this time. Default: run until Ctrl-C."`
}

const (
	minTopSince  = live.Window
	maxTopSince  = 24 * time.Hour
	defaultSince = 15 * time.Minute // of a stack
)

// Validate finds faults of the command line.
func (c *TopCmd) Validate() error {
	switch {
	case c.Since != 0 && (c.Since < minTopSince || c.Since > maxTopSince):
		return fmt.Errorf("--since %v: want 10s to 24h", c.Since)
	case c.Duration < 0:
		return fmt.Errorf("--duration %v: it must not be negative", c.Duration)
	}
	return c.heatFrom.Validate()
}

// Run shows hot keys until it is told to end, which is no error.
func (c *TopCmd) Run(ctx context.Context, std streams) error {
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	if c.Stack && c.Since == 0 {
		c.Since = defaultSince
	}
	now := time.Now()
	var since time.Time
	if c.Since > 0 {
		since = now.Add(-c.Since)
	}
	w, err := c.open(ctx, std, since)
	if err != nil {
		return err
	}
	if file, ok := std.out.(*os.File); ok && !c.JSON && term.IsTerminal(int(file.Fd())) && term.IsTerminal(int(os.Stdin.Fd())) {
		return c.view(ctx, file, w, since)
	}
	err = c.watch(ctx, std, w, since)
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// watch reads and shows side by side.
func (c *TopCmd) watch(ctx context.Context, std streams, w *watched, since time.Time) error {
	group, ctx := errgroup.WithContext(ctx)
	if w.run != nil {
		group.Go(func() error { return w.run(ctx) })
	}
	group.Go(func() error { return c.print(ctx, std.out, w, since) })
	return group.Wait()
}

// lookInterval is how often it is looked whether a window of a live reader is over.
const lookInterval = 200 * time.Millisecond

// print writes each window once it is over.
func (c *TopCmd) print(ctx context.Context, out io.Writer, w *watched, from time.Time) error {
	interval := lookInterval
	if w.run == nil {
		interval = stackInterval
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		to := w.settled()
		for window, err := range w.source.Windows(ctx, from, to, live.Window) {
			if err != nil {
				return err
			}
			if window.Start.Add(live.Window).After(to) {
				break // more of it may come
			}
			shown := c.shown(window)
			if err := c.write(out, shown); err != nil {
				return err
			}
			from = window.Start.Add(time.Millisecond)
		}
	}
}

// shownWindow is a line of JSON.
type shownWindow struct {
	Start    string     `json:"start"`
	Window   string     `json:"window"`
	Keys     []shownKey `json:"keys"`
	Coverage float64    `json:"coverage"`
}

type shownKey struct {
	Table  string  `json:"table,omitempty"` // of a key of a stack, if it is not hotshard's own
	Key    string  `json:"key"`
	Index  string  `json:"index,omitempty"`
	Status string  `json:"status"`
	Rate   float64 `json:"write_units_per_second"`
	Error  float64 `json:"error"`
	Share  float64 `json:"share"`
}

// maxShown is how many keys a window is shown with.
const maxShown = 20

// shown is what there is to tell of a window.
func (c *TopCmd) shown(w heat.Window) shownWindow {
	s := shownWindow{Start: httpapi.FormatTime(w.Start), Keys: []shownKey{}, Coverage: 1}
	for _, it := range w.Items {
		s.Window = durationText(it.Window)
		if it.Coverage > 0 {
			s.Coverage = min(s.Coverage, hundredths(it.Coverage))
		}
	}
	for _, row := range c.filtered(heat.Merge(w.Items)) {
		if len(s.Keys) == maxShown {
			break
		}
		table := row.Table
		if table == c.Table {
			table = ""
		}
		s.Keys = append(s.Keys, shownKey{
			Table: table, Key: c.named(row.Key), Index: row.Index, Status: row.Status.String(),
			Rate: hundredths(row.WriteUnitsPerSecond), Error: math.Ceil(row.Error*100) / 100, Share: math.Floor(1e4*row.WriteUnitsPerSecond/row.Limit) / 1e4,
		})
	}
	return s
}

// hundredths rounds down: rates and coverage are lower bounds.
func hundredths(v float64) float64 { return math.Floor(v*100) / 100 }

// durationText is a duration without what is zero: 10s, 1m.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func (c *TopCmd) filtered(rows []heat.Row) (kept []heat.Row) {
	for _, row := range rows {
		if strings.HasPrefix(row.Key, c.Prefix) && (c.Index == "" || row.Index == c.Index) {
			kept = append(kept, row)
		}
	}
	return kept
}

// named is how a key is shown.
func (c *TopCmd) named(key string) string {
	if c.Hash {
		return heat.Pseudonym(key)
	}
	return key
}

func (c *TopCmd) write(out io.Writer, w shownWindow) error {
	if c.JSON {
		return json.NewEncoder(out).Encode(w)
	}
	t := newTable("key", "index", "status", "units/s", "error", "share")
	for _, k := range w.Keys {
		t.row(name(k.Key), name(k.Index), k.Status, fmt.Sprintf("%.1f", k.Rate), fmt.Sprintf("%.1f", k.Error), fmt.Sprintf("%.0f %%", math.Floor(100*k.Share)))
	}
	_, err := fmt.Fprintf(out, "%s, %s, coverage %.0f %%\n%s\n", w.Start, w.Window, math.Floor(100*w.Coverage), t.Render())
	return err
}
