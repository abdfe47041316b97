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

// ConsoleCmd is hotshard console.
type ConsoleCmd struct {
	heatFrom
	consoleFile
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
	return cmp.Or(c.heatFrom.Validate(), c.consoleFile.validate(c.Stack))
}

// Run serves the console until it is interrupted, which is no error; or it writes a file.
func (c *ConsoleCmd) Run(ctx context.Context, std streams, line commandLine, commands display.Commands) error {
	if c.Out != "" {
		return c.writeFile(ctx, std, commands)
	}
	handler, run, err := c.handler(ctx, std, line, commands)
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
	group.Go(func() error { return run(serving) })
	err = group.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// consoleDeadline is the timeout of one request: a day's heat over a slow connection takes seconds.
const consoleDeadline = 20 * time.Second

// startCommand returns the command line that starts this console. It has the endpoint or Region, even if that came from the
// environment.
func (c *ConsoleCmd) startCommand(line commandLine, configured aws.Config) string {
	if c.Endpoint != "" {
		return line.withFlag("endpoint", c.Endpoint)
	}
	return line.withFlag("region", configured.Region)
}

// handler returns the console of a deployment, or of a table's stream. run reads the stream until its context ends.
func (c *ConsoleCmd) handler(ctx context.Context, std streams, line commandLine, commands display.Commands) (handler http.Handler, run func(context.Context) error, err error) {
	log := slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	configured, err := c.config(ctx)
	if err != nil {
		return nil, nil, err
	}
	about := console.About{Mode: "deployment", Where: c.where(configured), Version: thisVersion().Version, Start: c.startCommand(line, configured)}
	if c.Stack {
		service, err := c.deploymentReads(ctx, configured, commands)
		if err != nil {
			return nil, nil, err
		}
		about.Command = commands.Line("shards set") + apiVariable
		wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		return console.Handler(httpapi.New(log, query.Routes(service)), about), wait, nil
	}
	w, err := c.openTable(ctx, std, configured, live.Options{})
	if err != nil {
		return nil, nil, err
	}
	about.Mode, about.Table = "table", c.tableName()
	heat := query.NewHeat(w.Source, query.HeatOptions{Table: c.tableName(), Deadline: consoleDeadline, Now: time.Now, Commands: commands})
	return console.Handler(httpapi.New(log, query.HeatRoutes(heat)), about), w.Run, nil
}

// deploymentReads returns the service that answers reads of a deployment's tables. It loads the shard map.
func (c *ConsoleCmd) deploymentReads(ctx context.Context, configured aws.Config, commands display.Commands) (*query.Service, error) {
	names := schema.NamesFor(c.TablesPrefix)
	service, err := query.New(query.Settings{
		ItemsTable: names.Items, EventsTable: names.Events, RollupsTable: names.Rollups, ShardMapTable: names.ShardMap, HeatTable: names.Heat,
		Deadline: consoleDeadline, ViewAge: shardmap.MaxViewAge, Commands: commands,
	}, c.dynamoDB(configured))
	if err != nil {
		return nil, err
	}
	if err := service.Load(ctx); err != nil {
		return nil, (&tables{Prefix: c.TablesPrefix}).explain(err)
	}
	return service, nil
}
