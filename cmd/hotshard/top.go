package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hotshard/hotshard/internal/heatview"
	"github.com/hotshard/hotshard/internal/live"
	"github.com/hotshard/hotshard/internal/terminal"
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
	options := heatview.Options{Since: since, Span: c.Since, Table: c.Table, Index: c.Index, Prefix: c.Prefix, JSON: c.JSON, Hash: c.Hash}
	if file, ok := std.out.(*os.File); ok && !c.JSON && terminal.Is(file) && terminal.Is(os.Stdin) {
		return heatview.Show(ctx, file, w, options)
	}
	err = heatview.Print(ctx, std.out, w, options)
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}
