// Command reader is the Lambda function that does the work of hotkeys and of aggregator on the streams, as their one
// reader. A deployment with the setting readers=one has it instead of those two functions.
package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/reader"
)

func main() { function.Run("reader", build) }

// settings has the settings of both functions.
type settings struct {
	Detector   hotkeys.Settings
	Aggregator fold.Settings
}

func build(ctx context.Context, s settings, log *slog.Logger) (any, error) {
	detector, err := hotkeys.Deployed(ctx, s.Detector, log)
	if err != nil {
		return nil, err
	}
	client, err := function.DynamoDB()
	if err != nil {
		return nil, err
	}
	aggregator, err := fold.New(s.Aggregator, client, log)
	if err != nil {
		return nil, err
	}
	return reader.New(detector, aggregator, log, time.Now), nil
}
