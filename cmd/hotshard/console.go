package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/console"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/live"
	"github.com/hotshard/hotshard/internal/query"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// ConsoleCmd is hotshard console.
type ConsoleCmd struct {
	heatFrom
	Addr string `default:"127.0.0.1:8081" help:"Where the console is served, as host:port on this machine; port 0 picks a free one."`
}

// Validate finds faults of the command line. Whoever reaches the console reads with the
// operator's credentials, so nobody from elsewhere may.
func (c *ConsoleCmd) Validate() error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("--addr %q: want host:port", c.Addr)
	}
	if !httpapi.IsLoopback(host) {
		return fmt.Errorf("--addr %q: the console shows what your credentials may read, so it is served to this machine only: want 127.0.0.1, [::1] or localhost", c.Addr)
	}
	return c.heatFrom.Validate()
}

// Run serves the console until it is told to end, which is no error.
func (c *ConsoleCmd) Run(ctx context.Context, std streams) error {
	handler, run, err := c.handler(ctx, std)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("--addr %s: %w", c.Addr, err)
	}
	fmt.Fprintf(std.out, "the console is at http://%s/\n", listener.Addr())
	group, serving := errgroup.WithContext(ctx)
	server := &http.Server{Handler: onlyHere(handler), ReadHeaderTimeout: 10 * time.Second}
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-serving.Done()
		return server.Close()
	})
	group.Go(func() error { return run(serving) })
	err = group.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// onlyHere turns down requests for another host's name: a page from elsewhere could have its
// own name lead to this machine, and read along.
func onlyHere(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if !httpapi.IsLoopback(host) {
			http.Error(w, "the console is for this machine only", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// consoleDeadline bounds the work for one request: a day's heat over a slow line takes seconds.
const consoleDeadline = 20 * time.Second

// handler is the console over a table's stream, which run reads, or over a deployment.
func (c *ConsoleCmd) handler(ctx context.Context, std streams) (handler http.Handler, run func(context.Context) error, err error) {
	log := slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	configured, err := c.config(ctx)
	if err != nil {
		return nil, nil, err
	}
	about := console.About{Mode: "deployment", Where: c.where(configured), Version: thisVersion().Version}
	if c.Stack {
		client := c.dynamoDB(configured)
		names := schema.NamesFor(c.TablesPrefix)
		service, err := query.New(query.Settings{
			ItemsTable: names.Items, RollupsTable: names.Rollups, ShardMapTable: names.ShardMap, HeatTable: names.Heat,
			Deadline: consoleDeadline, DefaultSpan: 30 * 24 * time.Hour, ViewAge: shardmap.MaxViewAge,
		}, client)
		if err != nil {
			return nil, nil, err
		}
		if err := service.Load(ctx); err != nil {
			return nil, nil, (&tables{Prefix: c.TablesPrefix}).explain(err)
		}
		about.Command = `hotshard shards set --target "$api"`
		wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		return console.Handler(httpapi.New(log, query.Routes(service)), about), wait, nil
	}
	w, err := c.openTable(ctx, std, configured, live.Options{})
	if err != nil {
		return nil, nil, err
	}
	about.Mode, about.Table = "table", c.Table
	heat := query.NewHeat(w.Source, query.HeatOptions{Table: c.Table, Deadline: consoleDeadline, Now: time.Now})
	return console.Handler(httpapi.New(log, query.HeatRoutes(heat)), about), w.Run, nil
}
