package awscall

import (
	"context"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// ObserveAttempts returns an API option of an SDK's client that calls observe before each attempt of each call:
//
//	config.APIOptions = append(config.APIOptions, awscall.ObserveAttempts(count))
func ObserveAttempts(observe func(Action)) func(*middleware.Stack) error {
	observer := middleware.FinalizeMiddlewareFunc("ObserveAttempts", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		service, _, _ := strings.Cut(awsmiddleware.GetServiceID(ctx), " ") // the service ID may be "DynamoDB Streams"
		observe(Action(strings.ToLower(service) + ":" + awsmiddleware.GetOperationName(ctx)))
		return next.HandleFinalize(ctx, in)
	})
	return func(stack *middleware.Stack) error { return stack.Finalize.Add(observer, middleware.After) }
}
