package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/tool/heatview"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// TopCmd is hotshard top.
type TopCmd struct {
	heatFrom
	Since    time.Duration `placeholder:"15m" help:"Show the past, too: 10s to 24h. Default: 15m with --stack; with --table the stream is read from now on."`
	Index    string        `placeholder:"NAME" help:"Only partition keys of this index."`
	Prefix   string        `placeholder:"TEXT" help:"Only keys that begin with this."`
	JSON     bool          `name:"json" help:"Print a line of JSON for each window of 10 s."`
	Hash     bool          `help:"Show 16 digits of SHA-256 instead of keys."`
	Duration time.Duration `placeholder:"60s" help:"Stop after this time, with exit code 0; with 1 if --index or --prefix matched no key. Default: run until q or Ctrl-C."`
}

const (
	minTopSince  = live.Window
	maxTopSince  = 24 * time.Hour
	defaultSince = 15 * time.Minute // with --stack
)

// Validate returns an error if the flags are invalid.
func (c *TopCmd) Validate() error {
	switch {
	case c.Since != 0 && (c.Since < minTopSince || c.Since > maxTopSince):
		return fmt.Errorf("--since %v: want 10s to 24h", c.Since)
	case c.Duration < 0:
		return fmt.Errorf("--duration %v: it must not be negative", c.Duration)
	}
	return c.heatFrom.Validate()
}

// Run shows hot keys until the duration is over or it is interrupted. The end of the duration is an
// error only if the index or prefix matched no key; an interruption always is.
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
	if c.Index != "" && c.Table != "" && !slices.Contains(w.Indexes, c.Index) {
		return sentence("Table %q has no index %q. Check --index: %s.", c.Table, c.Index, cmp.Or(strings.Join(w.Indexes, ", "), "it has none"))
	}
	options := heatview.Options{Since: since, Span: c.Since, Table: c.Table, Index: c.Index, Prefix: c.Prefix, JSON: c.JSON, Hash: c.Hash}
	if file, ok := std.out.(*os.File); ok && !c.JSON && terminal.Is(file) && terminal.Is(os.Stdin) {
		err = heatview.Show(ctx, file, w, options)
	} else {
		err = heatview.Print(ctx, std.out, w, options)
	}
	if errors.Is(err, heatview.ErrInterrupted) {
		return interruption{os.Interrupt}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) { // --duration
		return nil
	}
	return err
}
