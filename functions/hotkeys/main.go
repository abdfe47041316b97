// Command hotkeys is the Lambda function that counts write units per partition
// key in the items table's stream, reports the hot ones, and has shard counts
// follow the load. A schedule invokes it too. Of a table that hotshard did not shard
// it only makes the report.
package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/function"
	"github.com/hotshard/hotshard/internal/function/watch"
	"github.com/hotshard/hotshard/internal/hotkey"
)

func main() { function.Run("hotkeys", build) }

func build(ctx context.Context, settings hotkey.Settings, log *slog.Logger) (any, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	db, err := function.DynamoDB()
	if err != nil {
		return nil, err
	}
	sink, err := watch.Metrics(settings.Metrics == hotkey.EMF)
	if err != nil {
		return nil, err
	}
	source, err := hotkey.FindSource(ctx, db, settings)
	if err != nil {
		return nil, err
	}
	streams, err := watch.Streams()
	if err != nil {
		return nil, err
	}
	return hotkey.New(settings, hotkey.Deps{
		Source: source, Heat: db, Shards: hotkey.OpenShards(db, settings), Partitions: hotkey.CountPartitions(streams),
		Metrics: sink, Log: log, Now: time.Now,
	})
}
