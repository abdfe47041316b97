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
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/schema"
)

// The detector's settings, scaled down to what one machine can write.
const (
	partitionWCU = 20
	threshold    = 0.7
	hotRate      = threshold * partitionWCU
	window       = 10 * time.Second
)

// log has what went wrong, not what was found.
var log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

// rig is a table with a detector behind its stream.
type rig struct {
	db      *dynamodb.Client
	names   schema.Names
	watch   *watch
	mapping *local.Mapping
}

func newRig(ctx context.Context, endpoint, dir string, batching time.Duration) (*rig, error) {
	access := "d" + rand.Text()
	r := &rig{db: local.DynamoDB(endpoint, access), names: schema.NamesFor("detect-"), watch: newWatch()}
	if err := local.CreateTables(ctx, r.db, r.names); err != nil {
		return nil, err
	}
	detector, err := hotkey.New(hotkey.Settings{
		Source: hotkey.Existing, SourceTable: r.names.Items, HeatTable: r.names.Heat, Window: window,
		PartitionWCU: partitionWCU, Threshold: threshold, TopK: 2000, HeatRetention: 24 * time.Hour,
		Metrics: hotkey.CloudWatch, MetricKeys: 100, MetricNames: heat.Plain, Control: hotkey.Off, Quiet: time.Hour,
	}, hotkey.Deps{
		Source: hotkey.Source{Table: r.names.Items, PartitionKey: schema.PK},
		Heat:   r.db, Metrics: r.watch, Log: log, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	source, err := local.OpenStream(ctx, local.Streams(endpoint, access), r.names.Items)
	if err != nil {
		return nil, err
	}
	r.mapping, err = local.NewMapping(local.MappingOptions{
		Name: "hotkeys", Source: source, Handler: detector,
		Checkpoints: r.db, CheckpointTable: local.CheckpointTable(r.names), FailureFile: filepath.Join(dir, "failures.jsonl"),
		BatchSize: 1000, BatchingWindow: batching, TumblingWindow: window,
		Attempts: 10, Bisect: true, PartialFailures: true, PollInterval: 20 * time.Millisecond, Logger: log,
	})
	return r, err
}

// measure makes one run, and prints a row for each key.
func measure(ctx context.Context, endpoint string, batching, lasting time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "detection")
	if err != nil {
		return fmt.Errorf("making a folder for failures: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r, err := newRig(ctx, endpoint, dir, batching)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, running := errgroup.WithContext(running)
	group.Go(func() error { return r.mapping.Run(running) })
	writers, writing := errgroup.WithContext(running)
	for _, multiple := range multiples {
		writers.Go(func() error { return r.write(writing, multiple, lasting) })
	}
	err = writers.Wait()
	if err == nil {
		time.Sleep(window + 2*batching) // for the last window's report
	}
	stop()
	if err = errors.Join(err, group.Wait()); err != nil {
		return err
	}
	if n := r.mapping.Stats().GivenUp; n > 0 {
		return fmt.Errorf("%d records were given up", n)
	}
	for _, multiple := range multiples {
		fmt.Println(r.watch.row(batching, multiple))
	}
	return nil
}

func keyOf(multiple float64) string { return fmt.Sprintf("at %.2f", multiple) }

// write writes to one key at its rate, each write at its time.
func (r *rig) write(ctx context.Context, multiple float64, lasting time.Duration) error {
	interval := time.Duration(float64(time.Second) / (multiple * hotRate))
	begin := time.Now()
	for i := 0; time.Since(begin) < lasting; i++ {
		select {
		case <-time.After(time.Until(begin.Add(time.Duration(i) * interval))):
		case <-ctx.Done():
			return ctx.Err()
		}
		_, err := r.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.names.Items, Item: map[string]types.AttributeValue{
			schema.PK: &types.AttributeValueMemberS{Value: keyOf(multiple)},
			schema.SK: &types.AttributeValueMemberS{Value: fmt.Sprint(i)},
		}})
		if err != nil {
			return fmt.Errorf("writing %s: %w", keyOf(multiple), err)
		}
		r.watch.wrote(keyOf(multiple), time.Now())
	}
	return nil
}
