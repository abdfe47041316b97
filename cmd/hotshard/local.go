package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/tool/system"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// LocalCmd is hotshard local, which runs the whole system on this machine.
type LocalCmd struct {
	Addr     string        `default:"127.0.0.1:8080" help:"Address of the API, as host:port; port 0 picks a free one."`
	Endpoint string        `copied:"endpoint" env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine to use instead of starting one."`
	Data     string        `placeholder:"DIR" type:"path" help:"Folder for the engine's data. This is slow: the engine syncs each write. If the engine is killed, the last keyed calls may be lost. Default: in memory."`
	Duration time.Duration `placeholder:"60s" help:"Stop after this time. Default: run until Ctrl-C."`
	Prefix   string        `copied:"prefix" default:"hotshard-" help:"Prefix of the tables' names."`
	Window   time.Duration `default:"10s" help:"The hot-key detector's window, whole seconds."`
	Idle     time.Duration `name:"idle-window" default:"2m" help:"How long a window stays open after its end if no write follows, up to 2m as on Lambda. make run sets 1s, so that the end of a storm shows at once."`
	Quiet    time.Duration `default:"1h" help:"How long a counter or limit must be quiet before its shard count shrinks, 1m to 24h. Other keys need a day."`
	Control  string        `default:"act" enum:"act,observe,off" help:"What happens to hot keys: act raises their shard counts, observe only logs, off does neither."`

	Readers string `default:"two" enum:"two,one" help:"Functions that read the streams: two, or one that does the work of both and leaves the stream's second place to a function of yours."`

	Partitions      int           `help:"Put a partition limiter before the engine: each table (items, events, the others) and each index begins with this many partitions. A new on-demand table has about 4 on AWS. Without it nothing throttles."`
	PartitionWCU    int           `name:"partition-wcu" default:"1000" help:"With --partitions: limit of each, in WCU/s. Its RCU/s are three times that. The detector's threshold scales with it."`
	TableWCU        int           `name:"table-wcu" help:"With --partitions: limit of each table, in WCU/s; 0 is no limit."`
	SplitAfter      time.Duration `help:"With --partitions: how long a partition is at its limit before it splits in two, 1s to 24h; 0 is never. AWS takes minutes. A single partition key never splits."`
	TransactionHold time.Duration `default:"5ms" help:"With --partitions: how long a transaction locks its items, up to 1s; other calls for them get a conflict meanwhile. 0 means no conflicts."`

	Failures string `placeholder:"FILE" type:"path" help:"File for records that a function discarded. Default: failures.jsonl in the data or cache folder."`
}

// Defaults of --partition-wcu and --transaction-hold.
const (
	awsPartitionWCU = 1000 // AWS's limit
	transactionHold = 5 * time.Millisecond
)

// Validate returns an error if the flags are invalid.
func (c *LocalCmd) Validate() error {
	switch {
	case c.Duration < 0:
		return fmt.Errorf("--duration %v: it must not be negative", c.Duration)
	case c.Idle <= 0:
		return fmt.Errorf("--idle-window %v: want more than 0", c.Idle)
	case c.PartitionWCU < 1:
		return fmt.Errorf("--partition-wcu %d: want at least 1", c.PartitionWCU)
	}
	if err := errors.Join(c.checkLimiterFlags(), checkLimiterTimes(c.SplitAfter, c.TransactionHold)); err != nil {
		return err
	}
	return c.options().Validate()
}

// checkLimiterTimes returns an error if --split-after or --transaction-hold is invalid.
func checkLimiterTimes(splitAfter, transactionHold time.Duration) error {
	switch {
	case splitAfter != 0 && splitAfter < time.Second || splitAfter > throttle.MaxSplitAfter:
		return fmt.Errorf("--split-after %v: want 0, or 1s to %v", splitAfter, throttle.MaxSplitAfter)
	case transactionHold < 0 || transactionHold > throttle.MaxTransactionHold:
		return fmt.Errorf("--transaction-hold %v: want 0 to %v", transactionHold, throttle.MaxTransactionHold)
	}
	return nil
}

// checkLimiterFlags returns an error if a flag of the partition limiter is given without --partitions.
func (c *LocalCmd) checkLimiterFlags() error {
	switch {
	case c.Partitions != 0:
		return nil
	case c.PartitionWCU != awsPartitionWCU:
		return errors.New("--partition-wcu needs --partitions")
	case c.TableWCU != 0:
		return errors.New("--table-wcu needs --partitions")
	case c.SplitAfter != 0:
		return errors.New("--split-after needs --partitions")
	case c.TransactionHold != transactionHold:
		return errors.New("--transaction-hold needs --partitions")
	}
	return nil
}

// options returns the options of the command line.
func (c *LocalCmd) options() system.Options {
	return system.Options{
		Addr: c.Addr, Endpoint: c.Endpoint, DataDir: c.Data, Prefix: c.Prefix, Window: c.Window, Idle: c.Idle, Quiet: c.Quiet, Control: c.Control, OneReader: c.Readers == "one",
		Limits: system.Limits{
			Partitions: c.Partitions, PartitionWCU: c.PartitionWCU, TableWCU: c.TableWCU,
			SplitAfter: c.SplitAfter, TransactionHold: c.TransactionHold,
		},
		Failures: c.Failures, Version: thisVersion().Version,
	}
}

// Run starts the system, prints its addresses, and returns when it has stopped.
func (c *LocalCmd) Run(ctx context.Context, std streams, line commandLine, commands display.Commands) error {
	failures, err := c.failureFile()
	if err != nil {
		return err
	}
	options := c.options()
	options.Failures, options.Notices, options.Start = failures, std.err, line.withFlag("endpoint", c.Endpoint)
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
		fmt.Fprintf(std.err, "hotshard: discarded %s; see %s\n", display.Several(int(discarded), "record"), failures)
	}
	if err == nil {
		fmt.Fprintln(std.out, "hotshard has stopped; the stream is drained")
	}
	return err
}

// failureFile returns the path of the file for discarded records: --failures, or failures.jsonl in the data or cache folder.
func (c *LocalCmd) failureFile() (string, error) {
	if c.Failures != "" {
		return c.Failures, nil
	}
	folder := c.Data
	if folder == "" {
		var err error
		if folder, err = dynamolocal.CacheDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "failures.jsonl"), nil
}
