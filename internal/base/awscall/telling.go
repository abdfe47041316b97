package awscall

import (
	"context"
	"strings"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Telling calls tell before each attempt of each call of an SDK's client:
//
//	config.APIOptions = append(config.APIOptions, awscall.Telling(count))
func Telling(tell func(Action)) func(*middleware.Stack) error {
	teller := middleware.FinalizeMiddlewareFunc("Telling", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		service, _, _ := strings.Cut(awsmiddleware.GetServiceID(ctx), " ") // the service ID may be "DynamoDB Streams"
		tell(Action(strings.ToLower(service) + ":" + awsmiddleware.GetOperationName(ctx)))
		return next.HandleFinalize(ctx, in)
	})
	return func(stack *middleware.Stack) error { return stack.Finalize.Add(teller, middleware.After) }
}
