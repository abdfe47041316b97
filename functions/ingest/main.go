// Command ingest is the Lambda function that takes writes from API Gateway.
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
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("ingest can't start", "error", err)
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	settings, err := env.ParseAs[ingest.Settings]()
	if err != nil {
		return err
	}
	client, err := awsclient.DynamoDB(context.Background())
	if err != nil {
		return err
	}
	service, err := ingest.New(settings, client)
	if err != nil {
		return err
	}
	lambda.Start(httpapi.Lambda(httpapi.New(log, ingest.Routes(service))))
	return nil
}
