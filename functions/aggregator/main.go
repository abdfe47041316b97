// Command aggregator is the Lambda function that folds the items table's stream
// into summaries.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/awsclient"
	"github.com/hotshard/hotshard/internal/rollup"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("aggregator can't start", "error", err)
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	settings, err := env.ParseAs[rollup.Settings]()
	if err != nil {
		return err
	}
	client, err := awsclient.DynamoDB(context.Background())
	if err != nil {
		return err
	}
	lambda.Start(rollup.New(settings, client, log))
	return nil
}
