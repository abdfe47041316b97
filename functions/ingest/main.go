// Command ingest is the Lambda function for writes through API Gateway.
package main

import (
	"context"
	"log/slog"

	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
)

func main() { function.Run("ingest", build) }

func build(ctx context.Context, settings ingest.Settings, log *slog.Logger) (any, error) {
	client, err := function.DynamoDB()
	if err != nil {
		return nil, err
	}
	handler, err := ingest.Handler(ctx, settings, client, log)
	if err != nil {
		return nil, err
	}
	return httpapi.Lambda(handler), nil
}
