// Command aggregator is the Lambda function that folds the items and events tables' streams into summaries.
package main

import (
	"context"
	"log/slog"

	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/fold"
)

func main() { function.Run("aggregator", build) }

func build(_ context.Context, settings fold.Settings, log *slog.Logger) (any, error) {
	client, err := function.DynamoDB()
	if err != nil {
		return nil, err
	}
	return fold.New(settings, client, log)
}
