// Command hotkeys is the Lambda function that counts write units by partition key in the tables' streams. It reports
// hot keys, and adjusts shard counts, also on a schedule. For an existing table it only reports.
package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/base/function/watch"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

func main() { function.Run("hotkeys", build) }

func build(ctx context.Context, settings hotkeys.Settings, log *slog.Logger) (any, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	db, err := function.DynamoDB()
	if err != nil {
		return nil, err
	}
	sink, err := watch.Metrics()
	if err != nil {
		return nil, err
	}
	source, err := hotkeys.FindSource(ctx, db, settings)
	if err != nil {
		return nil, err
	}
	streams, err := watch.Streams()
	if err != nil {
		return nil, err
	}
	return hotkeys.New(settings, hotkeys.Deps{
		Source: source, Heat: db, Shards: hotkeys.OpenShards(db, settings),
		Partitions: hotkeys.CountPartitions(streams, dynamo.Pause), Metrics: sink, Log: log, Now: time.Now,
	})
}
