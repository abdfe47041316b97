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

// Run reads the settings, builds a handler in any form that lambda.Start takes, and serves
// until Lambda ends the process. It logs all missing or wrong settings and exits with 1.
func Run[S any](name string, build func(context.Context, S, *slog.Logger) (any, error)) {
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	settings, err := env.ParseAsWithOptions[S](env.Options{FuncMap: map[reflect.Type]env.ParserFunc{reflect.TypeFor[time.Duration](): display.ParseAny}})
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
