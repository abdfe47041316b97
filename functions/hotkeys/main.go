// Command hotkeys is the Lambda function that counts write units by partition key in the tables' streams. It reports
// hot keys, and adjusts shard counts, also on a schedule. For an existing table it only reports.
package main

import (
	"context"
	"log/slog"

	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

func main() { function.Run("hotkeys", build) }

func build(ctx context.Context, settings hotkeys.Settings, log *slog.Logger) (any, error) {
	return hotkeys.Deployed(ctx, settings, log)
}
