// Package function starts the Lambda functions. It makes the log and AWS clients, and reads settings from the
// environment.
//
//	func main() { function.Run("ingest", build) }
//
//	func build(ctx context.Context, settings ingest.Settings, log *slog.Logger) (any, error)
//
// AWS_ENDPOINT_URL_DYNAMODB and AWS_ENDPOINT_URL_CLOUDWATCH replace AWS's endpoints, as in every AWS SDK, for FIPS or dual
// stack. Other settings of the SDKs and shared files are not read. The clients share connections, with a time limit for
// each attempt: see [NewHTTPClient].
package function

import (
	"context"
	"log/slog"
	"os"
	"reflect"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/base/display"
)

// Run serves a Lambda function until Lambda ends the process. build returns a handler in any form that lambda.Start takes.
// If settings are missing or wrong, or build fails, Run logs the error and exits with 1.
func Run[S any](name string, build func(context.Context, S, *slog.Logger) (any, error)) {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	handler, err := buildHandler(log, build)
	if err != nil {
		log.Error(name+" can't start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

func buildHandler[S any](log *slog.Logger, build func(context.Context, S, *slog.Logger) (any, error)) (handler any, err error) {
	parsers := map[reflect.Type]env.ParserFunc{reflect.TypeFor[time.Duration](): display.ParseAny}
	settings, err := env.ParseAsWithOptions[S](env.Options{FuncMap: parsers})
	if err != nil {
		return nil, err
	}
	return build(context.Background(), settings, log)
}
