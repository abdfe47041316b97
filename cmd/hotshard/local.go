package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/tool/load"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// LocalCmd is hotshard local, which runs the whole system on this machine.
type LocalCmd struct {
	Addr     string        `default:"127.0.0.1:8080" help:"Address of the API, as host:port; port 0 picks a free one."`
	Endpoint string        `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine to use instead of starting one."`
	Data     string        `placeholder:"DIR" type:"path" help:"Folder for the engine's data. This is slow: the engine syncs each write. If the engine is killed, the last keyed calls may be lost. Default: in memory."`
	Duration time.Duration `placeholder:"60s" help:"Stop after this time. Default: run until Ctrl-C."`
	Prefix   string        `copied:"prefix" default:"hotshard-" help:"Prefix of the tables' names."`

	Readers string `default:"two" enum:"two,one" help:"Functions that read the streams: two, or one that does the work of both and leaves the stream's second place to a function of yours."`

	Partitions   int `help:"Put a partition limiter before the engine: each table (items, events, the others) and each index begins with this many partitions. A new on-demand table has about 4 on AWS. Without it nothing throttles."`
	PartitionWCU int `name:"partition-wcu" default:"1000" help:"With --partitions: limit of each, in WCU/s. Its RCU/s are three times that. The detector's threshold scales with it."`
	TableWCU     int `name:"table-wcu" help:"With --partitions: limit of each table, in WCU/s; 0 is no limit."`
}

const (
	awsPartitionWCU = 1000                 // AWS's limit, the default of --partition-wcu
	transactionHold = 5 * time.Millisecond // how long a transaction locks its items behind the limiter
)

// Validate returns an error if the flags are invalid.
func (c *LocalCmd) Validate() error {
	switch {
	case c.Duration < 0:
		return fmt.Errorf("--duration %v: it must not be negative", c.Duration)
	case c.PartitionWCU < 1:
		return fmt.Errorf("--partition-wcu %d: want at least 1", c.PartitionWCU)
	case c.Partitions == 0 && c.PartitionWCU != awsPartitionWCU:
		return errors.New("--partition-wcu needs --partitions")
	case c.Partitions == 0 && c.TableWCU != 0:
		return errors.New("--table-wcu needs --partitions")
	}
	return c.options().Validate()
}

// options returns the options of the command line.
func (c *LocalCmd) options() system.Options {
	return system.Options{
		Addr: c.Addr, Endpoint: c.Endpoint, DataDir: c.Data, Prefix: c.Prefix, Window: load.DemoWindow, Idle: load.DemoIdleWindow, Control: "act", OneReader: c.Readers == "one",
		Limits:  system.Limits{Partitions: c.Partitions, PartitionWCU: c.PartitionWCU, TableWCU: c.TableWCU, TransactionHold: transactionHold},
		Version: thisVersion().Version,
	}
}

// Run starts the system, prints its addresses, and returns when it has stopped.
func (c *LocalCmd) Run(ctx context.Context, std streams, line commandLine, commands display.Commands) error {
	options := c.options()
	options.Notices, options.Start = std.err, line.withFlag("endpoint", c.Endpoint)
	options.Commands = commands
	options.Log = slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	running, err := system.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "hotshard is ready\n  console   %s/\n  API       %[1]s\n  API docs  %[1]s/docs\n  DynamoDB  %s\n", running.URL(), running.Endpoint())
	if c.Endpoint == "" {
		fmt.Fprintln(std.out, "    DynamoDB Local listens on all interfaces and checks no Host header: let no other machine reach its port")
	}
	if limited := running.LimitedEndpoint(); limited != "" {
		fmt.Fprintf(std.out, "  behind the partition limiter  %s\n", limited)
	}
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	err = running.Run(ctx)
	if discarded := running.DiscardedRecords(); discarded > 0 {
		fmt.Fprintf(std.err, "hotshard: discarded %s; see the errors above\n", display.Several(int(discarded), "record"))
	}
	if err == nil {
		fmt.Fprintln(std.out, "hotshard has stopped; the stream is drained")
	}
	return err
}
