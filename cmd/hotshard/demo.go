package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/tool/load"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// DemoCmd is hotshard demo, which makes a counter hot on this machine and shows how it cools.
type DemoCmd struct {
	Addr     string        `default:"127.0.0.1:8080" help:"Address of the console and the API, as host:port; port 0 picks a free one."`
	For      time.Duration `default:"90s" help:"How long the ramp lasts, 40s to 10m, in windows of 10s."`
	Keep     bool          `help:"Keep the console and the system until Ctrl-C."`
	Endpoint string        `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine to use instead of starting one."`
	Prefix   string        `copied:"prefix" default:"hotshard-demo-" help:"Prefix of the tables' names. A table of an earlier demo shows no heat: its counter already has its write shards."`
	Browser  bool          `negatable:"" default:"true" help:"Open the console in a browser if there is one and the output is a terminal."`
	JSON     bool          `name:"json" help:"Print the story as one JSON object: times in seconds since the ramp began (hot_after_seconds, cool_after_seconds, ...), rates in WCU/s (hottest_write_shard_wcu_per_second, ...), write_shard_changes with the shard map's times, throttled_share_of_attempts of write_attempts."`
}

// Validate returns an error if the flags are invalid.
func (c *DemoCmd) Validate() error {
	if c.For < load.MinDemo || c.For > load.MaxDemo {
		return fmt.Errorf("--for %v: want %v to %v", c.For, load.MinDemo, load.MaxDemo)
	}
	return c.options("").Validate()
}

// options returns the options of the demo's system, whose partitions are small. The console shows the command line start.
func (c *DemoCmd) options(start string) system.Options {
	return system.Options{
		Addr: c.Addr, Endpoint: c.Endpoint, Prefix: c.Prefix, Window: load.DemoWindow, Idle: load.DemoIdleWindow, Control: "act",
		Limits:  system.Limits{Partitions: load.DemoPartitions, PartitionWCU: load.DemoPartitionWCU, TransactionHold: transactionHold},
		Version: thisVersion().Version, Start: start, Demo: (&load.Demo{For: c.For}).Notice(),
	}
}

// Run starts the system, makes a counter hot, and prints the results. It returns an error if the counter was not hot or
// has not cooled, or if too many outcomes are unknown. With --keep the system runs until ctx ends.
func (c *DemoCmd) Run(ctx context.Context, std streams, line commandLine, commands display.Commands) error {
	var errs load.ErrorCounts
	running, err := c.start(ctx, std, line, commands, &errs)
	if err != nil {
		return err
	}
	var verdict error // on the results; nil if the ramp did not end
	group, groupCtx := errgroup.WithContext(ctx)
	serving, stop := context.WithCancel(groupCtx)
	group.Go(func() error { return running.Run(serving) })
	group.Go(func() error {
		defer stop()
		story, err := c.ramp(serving, std, running.URL())
		if err != nil {
			return err
		}
		printLines(std.err, errs.TakeLines())
		verdict = story.Err()
		if err := c.print(std, &story); err != nil || !c.Keep {
			return err
		}
		<-serving.Done()
		return nil
	})
	err = group.Wait()
	printLines(std.err, errs.TakeLines())
	return errors.Join(err, verdict)
}

// start starts the demo's system. It logs to errs.
func (c *DemoCmd) start(ctx context.Context, std streams, line commandLine, commands display.Commands, errs *load.ErrorCounts) (*system.System, error) {
	options := c.options(line.withFlag("endpoint", c.Endpoint))
	options.Notices, options.Log = std.err, slog.New(errs)
	options.Commands = commands
	return system.Start(ctx, options)
}

// ramp prints the console's address, opens the console, and runs the demo.
func (c *DemoCmd) ramp(ctx context.Context, std streams, url string) (load.DemoStory, error) {
	consoleURL := url + "/#/?from=" + time.Now().UTC().Truncate(load.DemoWindow).Format(time.RFC3339)
	until := fmt.Sprintf("for the next %.0f s", c.For.Seconds())
	if c.Keep {
		until = "until Ctrl-C"
	}
	notices := std.out
	if c.JSON {
		notices = std.err // standard output has only JSON
	}
	fmt.Fprintf(notices, "the console is at %s %s\n", consoleURL, until)
	if c.Browser && isTerminal(std.out) {
		openBrowser(consoleURL)
	}
	add, finish := progressBar(std.err, int(c.For.Seconds()), "ramp on counter "+load.DemoCounter)
	defer finish()
	return load.RunDemo(ctx, load.Demo{URL: url, For: c.For, Progress: add})
}

// print prints the results. With --keep it also prints their error, which Run returns only at the end.
func (c *DemoCmd) print(std streams, story *load.DemoStory) error {
	if err := story.Err(); err != nil && c.Keep {
		printLines(std.err, []string{err.Error()})
	}
	if c.JSON {
		return printJSON(std.out, story)
	}
	printLines(std.out, story.Lines())
	return nil
}

func printLines(out io.Writer, lines []string) {
	for _, line := range lines {
		fmt.Fprintln(out, visible(line))
	}
}
