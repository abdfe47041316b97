// Command query is the Lambda function that answers reads from API Gateway, and
// gives the OpenAPI document of the whole API.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/awsclient"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/ingest"
	"github.com/hotshard/hotshard/internal/query"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("query can't start", "error", err)
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	settings, err := env.ParseAs[query.Settings]()
	if err != nil {
		return err
	}
	client, err := awsclient.DynamoDB(context.Background())
	if err != nil {
		return err
	}
	service, err := query.New(settings, client)
	if err != nil {
		return err
	}
	reads := query.Routes(service)
	handler := httpapi.WithDocs(httpapi.New(log, reads), ingest.Routes(nil), reads)
	lambda.Start(httpapi.Lambda(handler))
	return nil
}
