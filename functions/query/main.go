// Command query is the Lambda function that answers reads from API Gateway, and
// gives the OpenAPI document of the whole API.
package main

import (
	"context"
	"log/slog"

	"github.com/hotshard/hotshard/internal/function"
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
	service, err := query.New(settings, client)
	if err != nil {
		return nil, err
	}
	function.Early(ctx, log, "reading the shard map", service.Load)
	reads := query.Routes(service)
	return httpapi.Lambda(httpapi.WithDocs(httpapi.New(log, reads), ingest.Routes(nil), reads)), nil
}
