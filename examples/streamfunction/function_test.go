package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/load"
	"github.com/hotshard/hotshard/internal/tool/system"
)

// ending is a stream whose stream shard has a child from its tenth record on.
type ending struct {
	eventsource.Source
	base string // the stream shard of the engine

	mu   sync.Mutex
	last string // sequence number of the parent's last record; "" if it is not yet known
}

const parentRecords = 10

func (e *ending) Shards(ctx context.Context) ([]eventsource.Shard, error) {
	list, err := e.Source.Shards(ctx)
	if err != nil || len(list) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%d stream shards, want one", len(list)))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.base = list[0].ID
	shards := []eventsource.Shard{{ID: "parent"}}
	if e.last != "" {
		shards = append(shards, eventsource.Shard{ID: "child", Parent: "parent"})
	}
	return shards, nil
}

func (e *ending) Open(shard, after string) eventsource.Reader {
	e.mu.Lock()
	defer e.mu.Unlock()
	if shard == "parent" {
		return &parent{of: e, base: e.Source.Open(e.base, after)}
	}
	return e.Source.Open(e.base, max(after, e.last))
}

// parent reads the records of the parent.
type parent struct {
	of   *ending
	base eventsource.Reader
	n    int
}

func (p *parent) Next(ctx context.Context, limit int) ([]eventsource.Record, bool, error) {
	if p.n == parentRecords {
		return nil, true, nil
	}
	list, _, err := p.base.Next(ctx, min(limit, parentRecords-p.n))
	if p.n += len(list); err == nil && p.n == parentRecords {
		p.of.mu.Lock()
		p.of.last = list[len(list)-1].Sequence
		p.of.mu.Unlock()
	}
	return list, p.n == parentRecords, err
}

// TestEveryChangeIsSent runs the function on the items table's stream, beside a local system with one reader. A target
// that is down now and then gets every change, and the reader folds all of them.
func TestEveryChangeIsSent(t *testing.T) {
	seen, calls := map[string]bool{}, 0 // seen by sequence number
	var mu sync.Mutex
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		var record events.DynamoDBEventRecord
		if calls++; calls%7 == 0 || json.NewDecoder(r.Body).Decode(&record) != nil {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		seen[record.Change.SequenceNumber] = true
	}))
	defer target.Close()
	t.Setenv("TARGET", target.URL)

	ctx, cancel := context.WithCancel(t.Context())
	prefix := enginetest.Prefix("streamfunction")
	local, err := system.Start(ctx, system.Options{
		Addr: "127.0.0.1:0", Endpoint: enginetest.Endpoint(t), Prefix: prefix, Window: time.Second, Idle: time.Second, Control: "act", OneReader: true,
		Failures: filepath.Join(t.TempDir(), "failures.jsonl"), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	ended := make(chan error, 2)
	go func() { ended <- local.Run(ctx) }()
	db, names := dynamolocal.DynamoDB(enginetest.Endpoint(t), ""), schema.NamesFor(prefix)
	stream, err := eventsource.OpenStream(ctx, db, dynamolocal.Streams(enginetest.Endpoint(t), ""), names.Items)
	require.NoError(t, err)
	mapping := eventsource.NewMapping(eventsource.MappingOptions{
		Name: "streamfunction", Source: &ending{Source: stream}, Handler: lambda.NewHandler(send),
		Checkpoints: db, CheckpointTable: dynamolocal.CheckpointTable(names), FailureFile: filepath.Join(t.TempDir(), "failures.jsonl"),
		BatchSize: 4, PollInterval: 50 * time.Millisecond, Bisect: true, PartialFailures: true, Logger: slog.New(slog.DiscardHandler),
	})
	go func() { ended <- mapping.Run(ctx) }()

	source, err := load.LogSource("../../events/access.log.gz", 100)
	require.NoError(t, err)
	result, err := load.Run(ctx, load.Options{Target: local.URL(), Source: source, Verify: true})
	if err != nil || result.Verify.Differences != 0 {
		t.Errorf("verification %+v, %v", result.Verify, err)
	}
	cancel()
	require.NoError(t, errors.Join(<-ended, <-ended))
	require.NoError(t, mapping.Drain(t.Context()))
	changes := changesOf(t, stream)
	for _, sequence := range changes {
		if !seen[sequence] {
			t.Errorf("the change %s was not sent", sequence)
		}
	}
	if len(changes) <= parentRecords {
		t.Errorf("%d changes, want more than the parent's", len(changes))
	}
}

// changesOf returns the sequence numbers of all records of a stream.
func changesOf(t *testing.T, stream eventsource.Source) (sequences []string) {
	t.Helper()
	shards, err := stream.Shards(t.Context())
	require.NoError(t, err)
	for _, s := range shards {
		for reader, empty := stream.Open(s.ID, ""), 0; empty < 3; {
			records, _, err := reader.Next(t.Context(), 1000)
			require.NoError(t, err)
			if len(records) == 0 {
				empty++
			}
			for _, r := range records {
				sequences = append(sequences, r.Sequence)
			}
		}
	}
	return sequences
}
