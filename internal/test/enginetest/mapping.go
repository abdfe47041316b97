package enginetest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
)

// StreamShards is the number of stream shards of Deliver. Each is read on its own and has its
// own markers in every check.
var StreamShards = require.Runs(2, 4)

// Deliver runs a handler on each table's stream until the test ends or stop is called. Both
// drain the streams. Each is split over StreamShards by a hash of the items. Deliver resumes at
// the checkpoints of the name; a new name begins at the streams' starts. Change, which may be
// nil, sets other options.
func Deliver(t testing.TB, db *dynamodb.Client, names schema.Names, name string, handler eventsource.Handler, change func(*eventsource.MappingOptions)) (stop func()) {
	t.Helper()
	var stops []func()
	for _, table := range schema.StreamTables() {
		stops = append(stops, deliver(t, db, names, table, name, handler, change))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

func deliver(t testing.TB, db *dynamodb.Client, names schema.Names, table schema.StreamTable, name string, handler eventsource.Handler, change func(*eventsource.MappingOptions)) (stop func()) {
	t.Helper()
	source, err := eventsource.OpenStream(t.Context(), db, Streams(t, db), names.Table(table))
	require.NoError(t, err)
	o := eventsource.MappingOptions{
		Name: name + "-" + table, Source: virtualStream{source, StreamShards}, Handler: handler,
		Checkpoints: db, CheckpointTable: dynamolocal.CheckpointTable(names),
		BatchSize: 100, BatchingWindow: 20 * time.Millisecond, TumblingWindow: time.Second, IdleWindow: time.Second,
		PollInterval: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	return drained(t, o)
}

// drained runs a mapping. stop drains it and may be called again.
func drained(t testing.TB, o eventsource.MappingOptions) (stop func()) {
	t.Helper()
	mapping := eventsource.NewMapping(o)
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
