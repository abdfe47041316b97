// Command hotkeys is the Lambda function that counts write units per partition
// key in the items table's stream, and reports the hot ones.
package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/function"
	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/metrics"
)

func main() { function.Run("hotkeys", build) }

func build(ctx context.Context, settings hotkey.Settings, log *slog.Logger) (any, error) {
	tables, err := function.DynamoDB(ctx)
	if err != nil {
		return nil, err
	}
	watch, err := function.CloudWatch(ctx)
	if err != nil {
		return nil, err
	}
	return hotkey.New(settings, hotkey.Deps{Rollups: tables, Metrics: metrics.NewCloudWatch(watch), Log: log, Now: time.Now})
}
