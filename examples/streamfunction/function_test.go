package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
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
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	require.NoError(t, err)
	ended := make(chan error, 2)
	go func() { ended <- local.Run(ctx) }()
	db, names := dynamolocal.DynamoDB(enginetest.Endpoint(t), ""), schema.NamesFor(prefix)
	stream, err := eventsource.OpenStream(ctx, db, dynamolocal.Streams(enginetest.Endpoint(t), ""), names.Items)
	require.NoError(t, err)
	mapping := eventsource.NewMapping(eventsource.MappingOptions{
		Name: "streamfunction", Source: stream, Handler: lambda.NewHandler(send),
		Checkpoints: db, CheckpointTable: dynamolocal.CheckpointTable(names),
		BatchSize: 4, PollInterval: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
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
	if len(changes) < 100 {
		t.Errorf("%d changes, want one or more for each of 100 requests", len(changes))
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
