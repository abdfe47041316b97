// Command aggregator is the Lambda function that folds the items table's stream
// into summaries.
package main

import (
	"context"
	"log/slog"

	"github.com/hotshard/hotshard/internal/function"
	"github.com/hotshard/hotshard/internal/rollup"
)

func main() { function.Run("aggregator", build) }

func build(_ context.Context, settings rollup.Settings, log *slog.Logger) (any, error) {
	client, err := function.DynamoDB()
	if err != nil {
		return nil, err
	}
	return rollup.New(settings, client, log)
}
