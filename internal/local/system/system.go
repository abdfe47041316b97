package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/local/lambda"
	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/internal/schema"
)

// System is a running system.
type System struct {
	options   Options
	listener  net.Listener
	engine    *local.Engine // nil with an endpoint of the caller's
	endpoint  string
	db        *dynamodb.Client // the engine's own
	names     schema.Names
	server    *http.Server
	mappings  []*eventsource.Mapping
	schedules []*schedule
	patience  time.Duration // with an engine that does not answer, at the end

	quota    *lambda.Quota            // that functions share; nil when one process serves all callers
	reserved map[string]*lambda.Quota // of the functions of the stream alone, by name
	pools    map[string]*lambda.Pool  // of the HTTP functions, by name; none likewise

	functions     *dynamodb.Client // what the functions use; behind the limiter if there is one
	limiter       *limiter.Limiter
	mapLimiter    *limiter.Limiter // of the shard map, where it has one of its own
	proxy         *http.Server
	proxyListener net.Listener
}

// Start makes everything ready: the port and the failure file first, since they
// fail at once, then the engine, the tables and the functions. After an error
// nothing is left running.
func Start(ctx context.Context, o Options) (_ *System, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &System{options: o, names: schema.NamesFor(o.Prefix), patience: answerTime}
	if s.listener, err = net.Listen("tcp", o.Addr); err != nil {
		return nil, fmt.Errorf("listening on %s: %w", o.Addr, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if err := openFailures(o.Failures); err != nil {
		return nil, err
	}
	if err := s.reachEngine(ctx); err != nil {
		return nil, err
	}
	if o.Notices != nil {
		fmt.Fprintln(o.Notices, "making the tables")
	}
	s.db = local.DynamoDB(s.endpoint, "")
	if err := local.CreateTables(ctx, s.db, s.names); err != nil {
		return nil, fmt.Errorf("tables at %s: %w", s.endpoint, err)
	}
	if err := s.limit(); err != nil {
		return nil, err
	}
	if err := s.wire(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// openFailures finds out whether records can be given up, before one is. It
// makes the file, and its folder.
func openFailures(path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			err = file.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("file for the records that a function gives up: %w", err)
	}
	return nil
}

func (s *System) reachEngine(ctx context.Context) error {
	if s.endpoint = s.options.Endpoint; s.endpoint != "" {
		return CheckEngine(ctx, s.endpoint)
	}
	engine, err := local.StartEngine(ctx, local.Options{DataDir: s.options.DataDir, SharedDB: true, Notice: s.options.Notices})
	if err != nil {
		return err
	}
	s.engine, s.endpoint = engine, engine.Endpoint()
	return nil
}

// URL is where the API answers.
func (s *System) URL() string { return "http://" + s.listener.Addr().String() }

// Endpoint is the engine's URL.
func (s *System) Endpoint() string { return s.endpoint }

// Run serves until ctx ends or a part fails. Then it finishes the requests under
// way, drains the stream, and stops the engine that it started.
func (s *System) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(s.server, s.listener) })
	if s.proxy != nil {
		group.Go(func() error { return serve(s.proxy, s.proxyListener) })
	}
	for _, sc := range s.schedules {
		group.Go(func() error {
			sc.run(running, s)
			return nil
		})
	}
	for _, m := range s.mappings {
		group.Go(func() error { return m.Run(running) })
	}
	if s.engine != nil {
		group.Go(func() error {
			select {
			case <-s.engine.Done():
				return fmt.Errorf("the engine ended: %w", s.engine.Err())
			case <-running.Done():
				return nil
			}
		})
	}
	group.Go(func() error {
		<-running.Done()
		return s.shutDownServer()
	})
	err := group.Wait()
	if err == nil {
		err = s.drain()
	}
	return errors.Join(err, s.close())
}

func serve(server *http.Server, listener net.Listener) error {
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving HTTP: %w", err)
	}
	return nil
}

// Bounds of an orderly end.
const (
	shutdownTime = 10 * time.Second
	drainTime    = time.Minute
	answerTime   = 5 * time.Second // of an engine that is not given up meanwhile
)

func (s *System) shutDownServer() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if s.proxy != nil {
		err = errors.Join(err, s.proxy.Shutdown(ctx))
	}
	if err != nil {
		return fmt.Errorf("finishing the requests under way: %w", err)
	}
	return nil
}

// drain delivers what is left in the stream, as long as the engine answers.
func (s *System) drain() error {
	bounded, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	watched, release := s.whileItAnswers(bounded)
	defer release()
	group, ctx := errgroup.WithContext(watched)
	for _, m := range s.mappings {
		group.Go(func() error { return m.Drain(ctx) })
	}
	err := group.Wait()
	if err != nil && watched.Err() != nil {
		err = context.Cause(watched)
	}
	if err != nil {
		return fmt.Errorf("the stream is not drained: %w", err)
	}
	return nil
}

// whileItAnswers returns a context that ends, with the reason as its cause, when the
// engine does not answer.
func (s *System) whileItAnswers(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := s.ping(ctx); err != nil {
				end(fmt.Errorf("the engine at %s does not answer: %w", s.endpoint, err))
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() { end(nil) }
}

func (s *System) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	_, err := s.db.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	if ctx.Err() != nil {
		return ctx.Err() // plainer than the client's
	}
	return err
}

// close lets go of what Start took.
func (s *System) close() error {
	_ = s.listener.Close() // closed already after a served shutdown
	if s.proxyListener != nil {
		_ = s.proxyListener.Close() // likewise
	}
	var err error
	for _, p := range s.pools {
		err = errors.Join(err, p.Stop())
	}
	if s.engine == nil {
		return err
	}
	return errors.Join(err, s.engine.Stop())
}

// GivenUp is how many records the functions have given up; they are in the
// failure file.
func (s *System) GivenUp() (records int64) {
	for _, m := range s.mappings {
		records += m.Stats().GivenUp
	}
	return records
}
