// Command hotkeys is the Lambda function that counts write units per partition
// key in the items table's stream, reports the hot ones, and has shard counts
// follow the load. A schedule invokes it too.
package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/function"
	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/metrics"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

func main() { function.Run("hotkeys", build) }

func build(ctx context.Context, settings hotkey.Settings, log *slog.Logger) (any, error) {
	db, err := function.DynamoDB(ctx)
	if err != nil {
		return nil, err
	}
	watch, err := function.CloudWatch(ctx)
	if err != nil {
		return nil, err
	}
	view := ddb.NewMap(db, settings.ShardMapTable)
	changer := ddb.NewMapChanger(db, view, ddb.ChangerOptions{Keep: ddb.HistoryKept(settings.EventRetention)})
	return hotkey.New(settings, hotkey.Deps{
		Items: db, Rollups: db, Shards: changer, Metrics: metrics.NewCloudWatch(watch), Log: log, Now: time.Now,
	})
}
