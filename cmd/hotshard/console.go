package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/tool/console"
	"github.com/hotshard/hotshard/internal/tool/live"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ConsoleCmd is hotshard console, which serves the heat map or writes it to a file.
type ConsoleCmd struct {
	heatFlags
	fileFlags
	Addr string `default:"127.0.0.1:8081" help:"Where the console is served, as host:port on this machine; port 0 picks a free one."`
}

// Validate returns an error if the flags are invalid. The console reads with the operator's credentials, so it must
// only listen on loopback addresses.
func (c *ConsoleCmd) Validate() error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("--addr %q: want host:port", c.Addr)
	}
	if !httpapi.IsLoopback(host) {
		return fmt.Errorf("--addr %q: the console shows what your credentials may read, so it is served only to this machine: want 127.0.0.1, [::1] or localhost", c.Addr)
	}
	return cmp.Or(c.heatFlags.Validate(), c.fileFlags.validate(c.Stack))
}

// Run serves the console until it is interrupted, which is no error; or it writes a file.
func (c *ConsoleCmd) Run(ctx context.Context, std streams, line commandLine, commands display.Commands) error {
	if c.Out != "" {
		return c.writeFile(ctx, std, commands)
	}
	handler, readStream, err := c.handler(ctx, std, line, commands)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("--addr %s: %w", c.Addr, err)
	}
	fmt.Fprintf(std.out, "the console is at http://%s/\n", listener.Addr())
	group, serving := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(serving, listener, httpapi.ForHostsOf(c.Addr, handler)) })
	group.Go(func() error { return readStream(serving) })
	err = group.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// consoleDeadline is the timeout of one request: a day's heat over a slow connection takes seconds.
const consoleDeadline = 20 * time.Second

// startCommand returns the command line that starts this console again, with the endpoint or Region of the environment.
func (c *ConsoleCmd) startCommand(line commandLine, cfg aws.Config) string {
	if c.Endpoint != "" {
		return line.withFlag("endpoint", c.Endpoint)
	}
	return line.withFlag("region", cfg.Region)
}

// handler returns the console of a deployment or table. readStream reads the table's stream, or only waits for ctx.
func (c *ConsoleCmd) handler(ctx context.Context, std streams, line commandLine, commands display.Commands) (handler http.Handler, readStream func(context.Context) error, err error) {
	log := slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cfg, err := c.awsConfig(ctx)
	if err != nil {
		return nil, nil, err
	}
	about := console.About{Mode: "deployment", Where: c.where(cfg), Version: thisVersion().Version, Start: c.startCommand(line, cfg)}
	if c.Stack {
		service, err := c.queryService(ctx, cfg, commands)
		if err != nil {
			return nil, nil, err
		}
		about.Command = commands.Line("shards set") + apiVariable
		wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		return console.Handler(httpapi.New(log, query.Routes(service)), about), wait, nil
	}
	feed, err := c.tableHeat(ctx, std, cfg, live.Options{})
	if err != nil {
		return nil, nil, err
	}
	about.Mode, about.Table = "table", c.tableName()
	heat := query.NewHeat(feed.Source, query.HeatOptions{Table: c.tableName(), Deadline: consoleDeadline, Now: time.Now, Commands: commands})
	return console.Handler(httpapi.New(log, query.HeatRoutes(heat)), about), feed.Run, nil
}

// queryService returns the service that answers reads of a deployment's tables. It has loaded the shard map.
func (c *ConsoleCmd) queryService(ctx context.Context, cfg aws.Config, commands display.Commands) (*query.Service, error) {
	names := schema.NamesFor(c.TablesPrefix)
	service, err := query.New(query.Settings{
		ItemsTable: names.Items, EventsTable: names.Events, RollupsTable: names.Rollups, ShardMapTable: names.ShardMap, HeatTable: names.Heat,
		Deadline: consoleDeadline, ViewAge: shardmap.MaxViewAge, Commands: commands,
	}, c.dynamoDB(cfg))
	if err != nil {
		return nil, err
	}
	if err := service.Load(ctx); err != nil {
		return nil, (&tableFlags{Prefix: c.TablesPrefix}).explainError(err)
	}
	return service, nil
}
