// Command hotkeys is the Lambda function that counts write units by partition key
// in the items table's stream, and reports the hot ones.
package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/awsclient"
	"github.com/hotshard/hotshard/internal/hotkey"
	"github.com/hotshard/hotshard/internal/metrics"
)

func main() {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(log); err != nil {
		log.Error("hotkeys can't start", "error", err)
		os.Exit(1)
	}
}

func run(log *slog.Logger) error {
	settings, err := env.ParseAs[hotkey.Settings]()
	if err != nil {
		return err
	}
	tables, err := awsclient.DynamoDB(context.Background())
	if err != nil {
		return err
	}
	watch, err := awsclient.CloudWatch(context.Background())
	if err != nil {
		return err
	}
	sink := metrics.NewCloudWatch(watch)
	handler, err := hotkey.New(settings, hotkey.Deps{Rollups: tables, Metrics: sink, Log: log, Now: time.Now})
	if err != nil {
		return err
	}
	lambda.Start(handler)
	return nil
}
