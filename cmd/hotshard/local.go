package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/system"
)

// LocalCmd runs the whole system on this machine.
type LocalCmd struct {
	Addr     string        `default:"127.0.0.1:8080" help:"Address of the API, as host:port; port 0 picks a free one."`
	Endpoint string        `env:"HOTSHARD_ENDPOINT" placeholder:"URL" help:"DynamoDB-compatible engine to use instead of starting one."`
	Data     string        `placeholder:"DIR" type:"path" help:"Folder in which the engine keeps its data. It is slow then: each write is synced. Default: in memory."`
	Duration time.Duration `placeholder:"60s" help:"Stop after this time. Default: run until Ctrl-C."`
	Prefix   string        `default:"hotshard-" help:"Of the tables' names."`
	Window   time.Duration `default:"10s" help:"The hot-key detector's window, whole seconds."`
	Failures string        `placeholder:"FILE" type:"path" help:"Where records go that a function gave up. Default: failures.jsonl in the data or cache folder."`
}

// Run starts the system, says where it is, and returns when it has stopped.
func (c *LocalCmd) Run(ctx context.Context, std streams) error {
	if c.Duration < 0 {
		return fmt.Errorf("--duration is %v: it must not be negative", c.Duration)
	}
	failures, err := c.failureFile()
	if err != nil {
		return err
	}
	running, err := system.Start(ctx, system.Options{
		Addr: c.Addr, Endpoint: c.Endpoint, DataDir: c.Data, Prefix: c.Prefix, Window: c.Window,
		Failures: failures, Notices: std.err,
		Log: slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "hotshard is ready\n  API       %s\n  API docs  %[1]s/docs\n  DynamoDB  %s\n", running.URL(), running.Endpoint())
	if c.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Duration)
		defer cancel()
	}
	err = running.Run(ctx)
	if n := running.GivenUp(); n > 0 {
		fmt.Fprintf(std.err, "hotshard: %d records were given up; see %s\n", n, failures)
	}
	if err == nil {
		fmt.Fprintln(std.out, "hotshard has stopped; the stream is drained")
	}
	return err
}

func (c *LocalCmd) failureFile() (string, error) {
	if c.Failures != "" {
		return c.Failures, nil
	}
	folder := c.Data
	if folder == "" {
		var err error
		if folder, err = local.DefaultCacheDir(); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, "failures.jsonl"), nil
}
