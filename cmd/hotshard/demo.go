package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/tool/demo"
	"github.com/hotshard/hotshard/internal/tool/system"
	"github.com/hotshard/hotshard/internal/tool/terminal"
)

// DemoCmd is hotshard demo.
type DemoCmd struct {
	Addr     string        `default:"127.0.0.1:8080" help:"Address of the console and the API, as host:port; port 0 picks a free one."`
	For      time.Duration `default:"90s" help:"How long the ramp lasts, 40s to 10m, in windows of 10s."`
	Endpoint string        `env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine to use instead of starting one."`
	Prefix   string        `default:"hotshard-demo-" help:"Prefix of the tables' names. A table of an earlier demo shows no heat: its counter already has its write shards."`
	Browser  bool          `negatable:"" default:"true" help:"Open the console in a browser if there is one and the output is a terminal."`
	JSON     bool          `name:"json" help:"Print the story as one JSON object: times in seconds since the ramp began (hot_after_seconds, cool_after_seconds, ...), rates in WCU/s (hottest_write_shard_wcu_per_second, ...), write_shard_changes with the shard map's times, throttled_share_of_attempts of write_attempts."`
}

// Validate returns an error if the flags are invalid.
func (c *DemoCmd) Validate() error {
	if c.For < demo.MinFor || c.For > demo.MaxFor {
		return fmt.Errorf("--for %v: want %v to %v", c.For, demo.MinFor, demo.MaxFor)
	}
	return c.options("").Validate()
}

// options returns the options of hotshard local --partitions 64 --partition-wcu 20.
func (c *DemoCmd) options(start string) system.Options {
	return system.Options{
		Addr: c.Addr, Endpoint: c.Endpoint, Prefix: c.Prefix, Window: demo.Window, Idle: demo.IdleWindow, Quiet: time.Hour, Control: "act",
		Limits:  system.Limits{Partitions: demo.Partitions, PartitionWCU: demo.PartitionWCU, TransactionHold: transactionHold},
		Version: thisVersion().Version, Start: start,
	}
}

// Run starts the system, makes a counter hot, and prints its story. It returns an error if the counter was not hot or
// has not cooled.
func (c *DemoCmd) Run(ctx context.Context, std streams, line commandLine) error {
	story, err := c.runDemo(ctx, std, line)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(std.out, story)
	} else {
		for _, text := range story.Lines() {
			fmt.Fprintln(std.out, text)
		}
	}
	return errors.Join(err, story.Err())
}

// runDemo runs the demo on a new system, which has stopped when runDemo returns.
func (c *DemoCmd) runDemo(ctx context.Context, std streams, line commandLine) (story demo.Story, err error) {
	options := c.options(line.withFlag("endpoint", c.Endpoint))
	if options.Failures, err = (&LocalCmd{}).failureFile(); err != nil {
		return story, err
	}
	options.Notices = std.err
	options.Log = slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelError}))
	running, err := system.Start(ctx, options)
	if err != nil {
		return story, err
	}
	group, working := errgroup.WithContext(ctx)
	serving, stop := context.WithCancel(working)
	group.Go(func() error { return running.Run(serving) })
	group.Go(func() error {
		defer stop()
		console := running.URL() + "/#/?from=" + time.Now().UTC().Truncate(demo.Window).Format(time.RFC3339)
		fmt.Fprintf(c.notices(std), "the console is at %s for the next %.0f s\n", console, c.For.Seconds())
		c.open(std, console)
		add, finish := terminal.Progress(std.err, int(c.For.Seconds()), "ramp on counter "+demo.Counter)
		defer finish()
		var err error
		story, err = demo.Run(serving, demo.Options{URL: running.URL(), For: c.For, Progress: add})
		return err
	})
	err = group.Wait()
	return story, err
}

// notices returns the output for the console's address: standard error with --json, so that standard output has only
// JSON.
func (c *DemoCmd) notices(std streams) io.Writer {
	if c.JSON {
		return std.err
	}
	return std.out
}

// open opens the console in a browser. Without a terminal or a browser it does nothing.
func (c *DemoCmd) open(std streams, url string) {
	if c.Browser && terminal.Is(std.out) {
		openBrowser(url)
	}
}
