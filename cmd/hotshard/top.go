package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/tool/live"
)

// TopCmd is hotshard top, which shows hot keys live.
type TopCmd struct {
	heatFlags
	Index    string        `placeholder:"NAME" help:"Only partition keys of this index."`
	Prefix   string        `placeholder:"TEXT" help:"Only keys that begin with this."`
	JSON     bool          `name:"json" help:"Print a line of JSON for each window of 10 s."`
	Hash     bool          `help:"Show 16 digits of SHA-256 instead of keys."`
	Duration time.Duration `placeholder:"60s" help:"Stop after this time, with exit code 0. Default: run until Ctrl-C."`
}

// Validate returns an error if the flags are invalid.
func (c *TopCmd) Validate() error {
	if c.Duration < 0 {
		return fmt.Errorf("--duration %v: it must not be negative", c.Duration)
	}
	return c.heatFlags.Validate()
}

// Run shows hot keys until --duration is over, which is no error, or until the caller's context ends, which is one.
func (c *TopCmd) Run(ctx context.Context, std streams, commands display.Commands) error {
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	feed, err := c.open(ctx, std)
	if err != nil {
		return err
	}
	if c.Index != "" && !slices.Contains(feed.Indexes, c.Index) {
		return userErrorf("Table %s has no global index %q. Check --index: %s.", feed.Name, c.Index, cmp.Or(strings.Join(feed.Indexes, ", "), "it has none"))
	}
	err = printWindows(ctx, std.out, feed, viewOptions{Table: c.tableName(), Index: c.Index, Prefix: c.Prefix, JSON: c.JSON, Hash: c.Hash, Commands: commands})
	if durationOver := errors.Is(ctx.Err(), context.DeadlineExceeded); durationOver && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// open returns the heat of the table or deployment from now on.
func (c *TopCmd) open(ctx context.Context, std streams) (*heatFeed, error) {
	cfg, err := c.awsConfig(ctx)
	if err != nil {
		return nil, err
	}
	if c.Stack {
		return c.deploymentHeat(ctx, cfg)
	}
	return c.tableHeat(ctx, std, cfg, live.Options{AtOnce: true})
}
