// Package function is the part that the mains of all Lambda functions share: the
// log, the settings from the environment, AWS clients, and the start.
//
//	func main() { function.Run("ingest", build) }
//
//	func build(ctx context.Context, settings ingest.Settings, log *slog.Logger) (any, error)
//
// AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_CLOUDWATCH name other endpoints
// than AWS's own, as in every AWS SDK. Of the SDKs' other settings those for retries,
// FIPS and dual-stack endpoints are read; shared files are not.
package function

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/caarlos0/env/v11"
)

// Run reads the settings, has build make a handler of them, in any form that
// lambda.Start takes, and serves until Lambda ends the process. When something is
// missing or wrong it logs all of it and exits with 1.
func Run[S any](name string, build func(context.Context, S, *slog.Logger) (any, error)) {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	settings, err := env.ParseAs[S]()
	if err == nil {
		var handler any
		if handler, err = build(context.Background(), settings, log); err == nil {
			lambda.Start(handler)
			return
		}
	}
	log.Error(name+" can't start", "error", err)
	os.Exit(1)
}

// earlyTime bounds what a function does before its first call; Lambda gives 10 s to all.
const earlyTime = 5 * time.Second

// Early makes a call that spares the first request some waiting. If it fails, that is
// logged, and the request makes it again.
func Early(ctx context.Context, log *slog.Logger, what string, call func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, earlyTime)
	defer cancel()
	if err := call(ctx); err != nil {
		log.Warn(what+" has to wait for the first call", "error", err)
	}
}
