// Command query is the Lambda function for reads through API Gateway. It also serves the OpenAPI document of the whole
// API.
package main

import (
	"context"
	"log/slog"

	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

func main() { function.Run("query", build) }

func build(ctx context.Context, settings query.Settings, log *slog.Logger) (any, error) {
	client, err := function.DynamoDB()
	if err != nil {
		return nil, err
	}
	handler, err := query.Handler(ctx, settings, client, log, ingest.Routes(nil))
	if err != nil {
		return nil, err
	}
	return httpapi.Lambda(handler), nil
}
