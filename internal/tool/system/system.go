package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// System is a running system.
type System struct {
	engine  // with the tables
	limited // the functions' connection to the engine

	options   Options
	names     schema.Names
	listener  net.Listener
	server    *http.Server // of the API and the console
	mappings  []*eventsource.Mapping
	schedules []*schedule
}

// Start opens the port, connects to the engine or starts one, and creates the tables and the functions. Run then serves.
// After an error nothing is left running.
func Start(ctx context.Context, options Options) (_ *System, err error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	system := &System{options: options, names: schema.NamesFor(options.Prefix)}
	if system.listener, err = net.Listen("tcp", options.Addr); err != nil {
		return nil, fmt.Errorf("--addr %s: %w", options.Addr, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, system.close())
		}
	}()
	if err := system.engine.connect(ctx, options); err != nil {
		return nil, err
	}
	if options.Notices != nil {
		fmt.Fprintln(options.Notices, "making the tables")
	}
	if err := dynamolocal.CreateTables(ctx, system.db, system.names); err != nil {
		return nil, fmt.Errorf("creating the tables at %s: %w", system.endpoint, err)
	}
	system.limited = limited{limits: options.Limits, target: system.endpoint}
	if err := system.limited.start(); err != nil {
		return nil, err
	}
	if err := system.connectFunctions(ctx); err != nil {
		return nil, err
	}
	return system, nil
}

// URL returns the URL of the API.
func (s *System) URL() string { return "http://" + s.listener.Addr().String() }

// Run serves until ctx ends or a component fails. Then it finishes requests in flight, drains the streams if none
// failed, and stops the engine.
func (s *System) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(s.server, s.listener) })
	if s.proxy != nil {
		group.Go(func() error { return serve(s.proxy, s.proxyListener) })
	}
	for _, sc := range s.schedules {
		group.Go(func() error {
			sc.run(running, s.options.Log)
			return nil
		})
	}
	for _, m := range s.mappings {
		group.Go(func() error { return m.Run(running) })
	}
	group.Go(func() error { return s.engine.awaitEnd(running) })
	group.Go(func() error {
		<-running.Done()
		return s.shutDownServers()
	})
	err := group.Wait()
	if err == nil {
		err = s.drain()
	}
	return errors.Join(err, s.close())
}

// serve serves HTTP until the server is shut down, which is no error.
func serve(server *http.Server, listener net.Listener) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving HTTP: %w", err)
	}
	return nil
}

// Timeouts of an orderly end.
const (
	shutdownTimeout = 10 * time.Second
	drainTimeout    = time.Minute // while the engine responds
)

// shutDownServers waits for the requests in flight, to the API and to the limiter's proxy.
func (s *System) shutDownServers() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if s.proxy != nil {
		err = errors.Join(err, s.proxy.Shutdown(ctx))
	}
	if err != nil {
		return fmt.Errorf("finishing the requests in flight: %w", err)
	}
	return nil
}

// drain delivers the remaining records of the streams. It fails if the engine stops responding, or after drainTimeout.
func (s *System) drain() error {
	timeout, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	responding, release := s.contextWhileResponding(timeout)
	defer release()
	group, ctx := errgroup.WithContext(responding)
	for _, m := range s.mappings {
		group.Go(func() error { return m.Drain(ctx) })
	}
	err := group.Wait()
	if err != nil && responding.Err() != nil {
		err = context.Cause(responding)
	}
	if err != nil {
		return fmt.Errorf("the streams are not drained, so summaries may lack their last writes until the next start: %w", err)
	}
	return nil
}

// close closes the listeners, and stops the engine that Start started.
func (s *System) close() error {
	_ = s.listener.Close() // already closed after a served shutdown
	if s.proxyListener != nil {
		_ = s.proxyListener.Close() // already closed after a served shutdown
	}
	return s.engine.stop()
}

// DiscardedRecords returns the number of records that the functions discarded since Start. Options.Log names them.
func (s *System) DiscardedRecords() (records int64) {
	for _, m := range s.mappings {
		records += m.GivenUp()
	}
	return records
}
