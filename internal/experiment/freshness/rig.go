package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/rollup"
	"github.com/hotshard/hotshard/internal/schema"
)

// rig is a table with an aggregator behind its stream.
type rig struct {
	db     *dynamodb.Client
	names  schema.Names
	source *local.Stream
	dir    string // for the failure file
}

func newRig(ctx context.Context, endpoint string) (r *rig, err error) {
	access := "f" + rand.Text()
	r = &rig{db: local.DynamoDB(endpoint, access), names: schema.NamesFor("fresh-")}
	if r.dir, err = os.MkdirTemp("", "freshness"); err != nil {
		return nil, fmt.Errorf("making a folder for failures: %w", err)
	}
	if err := local.CreateTables(ctx, r.db, r.names); err != nil {
		return nil, errors.Join(err, r.close())
	}
	if r.source, err = local.OpenStream(ctx, local.Streams(endpoint, access), r.names.Items); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func (r *rig) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := os.RemoveAll(r.dir)
	for _, t := range local.Tables(r.names) {
		_, failed := r.db.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &t.Name})
		err = errors.Join(err, failed)
	}
	return err
}

// aggregator starts a container.
func (r *rig) aggregator(client rollup.Client) (*rollup.Handler, error) {
	settings := rollup.Settings{RollupsTable: r.names.Rollups}
	if err := settings.Rules.UnmarshalText([]byte(`[{"every":"1h"}]`)); err != nil {
		return nil, err
	}
	return rollup.New(settings, client, slog.New(slog.DiscardHandler))
}

// mapping is as the deployed one, but for its batching window.
func (r *rig) mapping(source local.Source, handler local.Handler, window, poll time.Duration) (*local.Mapping, error) {
	return local.NewMapping(local.MappingOptions{
		Name: "aggregator", Source: source, Handler: handler,
		Checkpoints: r.db, CheckpointTable: local.CheckpointTable(r.names), FailureFile: filepath.Join(r.dir, "failures.jsonl"),
		BatchSize: 1000, BatchingWindow: window, TumblingWindow: 10 * time.Second,
		Attempts: 10, Bisect: true, PartialFailures: true, PollInterval: poll, Logger: slog.New(slog.DiscardHandler),
	})
}

// during runs a mapping while something is done, and until all of that has been
// delivered: to stop it sooner would cut a batch off, which then comes again.
func during(ctx context.Context, m *local.Mapping, do func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(ctx)
	group.Go(func() error {
		if err := m.Run(running); err != nil {
			return fmt.Errorf("reading the stream: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		defer stop()
		if err := do(ctx); err != nil {
			return err
		}
		return caughtUp(ctx, m, time.Now().Add(settling))
	})
	err := group.Wait()
	if n := m.Stats().GivenUp; err == nil && n > 0 {
		err = fmt.Errorf("%d records were given up", n)
	}
	return err
}

// settling is more than the engine takes to show a write in its stream.
const settling = 300 * time.Millisecond

// patience is how long the last writes may take to be folded, beside their batching
// windows.
const patience = 30 * time.Second

// caughtUp waits until all is delivered that could be read at some time.
func caughtUp(ctx context.Context, m *local.Mapping, at time.Time) error {
	ctx, cancel := context.WithDeadlineCause(ctx, at.Add(patience), errors.New("the mapping did not catch up"))
	defer cancel()
	for !m.Stats().CaughtUp.After(at) {
		select {
		case <-time.After(settling / 10):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// pace is how writes come.
type pace struct {
	rate    int // a second
	lasting time.Duration
}

// maxWriters bounds the writes under way. When all are, further ones come late.
const maxWriters = 32

// write makes writes, numbered from 0, at their times.
func (p pace) write(ctx context.Context, one func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxWriters)
	begin := time.Now()
	for i := range p.count() {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(p.rate))
		select {
		case <-time.After(time.Until(due)):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), group.Wait())
		}
		group.Go(func() error { return one(ctx, i) })
	}
	return group.Wait()
}

func (p pace) count() int { return int(p.lasting.Seconds() * float64(p.rate)) }
