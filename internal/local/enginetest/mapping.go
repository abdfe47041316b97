package enginetest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/local/virtualstream"
	"github.com/hotshard/hotshard/internal/schema"
)

// StreamShards is over how many Deliver splits a stream. Each of them is read on its own,
// and has marks of its own in every audit.
var StreamShards = lane.Runs(2, 4)

// Deliver has a handler, under that name, process the items table's stream, split over
// StreamShards by a hash of the items, until the test ends or stop is called, which
// drains it. The same name goes on where it was; another starts from the beginning. With
// change, which may be nil, other options can be set.
func Deliver(t testing.TB, db *dynamodb.Client, names schema.Names, name string, handler eventsource.Handler, change func(*eventsource.MappingOptions)) (stop func()) {
	t.Helper()
	access, err := db.Options().Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source, err := eventsource.OpenStream(t.Context(), local.Streams(aws.ToString(db.Options().BaseEndpoint), access.AccessKeyID), names.Items)
	if err != nil {
		t.Fatal(err)
	}
	virtual, err := virtualstream.New(source, virtualstream.Options{Shards: StreamShards, Seed: 7, Spread: virtualstream.ByItem})
	if err != nil {
		t.Fatal(err)
	}
	o := eventsource.MappingOptions{
		Name: name, Source: virtual, Handler: handler,
		Checkpoints: db, CheckpointTable: local.CheckpointTable(names), FailureFile: filepath.Join(t.TempDir(), "failures.jsonl"),
		BatchSize: 100, BatchingWindow: 20 * time.Millisecond, TumblingWindow: time.Second,
		PollInterval: 50 * time.Millisecond, Bisect: true, PartialFailures: true, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	return drained(t, o)
}

// drained runs a mapping until stop, which drains it and may be called again.
func drained(t testing.TB, o eventsource.MappingOptions) (stop func()) {
	t.Helper()
	mapping, err := eventsource.NewMapping(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mapping.Run(ctx) }()
	done := false
	stop = func() {
		if done {
			return
		}
		done = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		bounded, release := context.WithTimeout(context.Background(), time.Minute)
		defer release()
		if err := mapping.Drain(bounded); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}
