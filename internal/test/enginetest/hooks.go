package enginetest

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
)

// Before returns a client that calls hook with the input of each call, and then makes the call. If
// hook returns an error, the call is not made and returns that error.
func Before(db *dynamodb.Client, hook func(in any) error) *dynamodb.Client {
	return Around(db, func(in any, call func() error) error {
		if err := hook(in); err != nil {
			return err
		}
		return call()
	})
}

// Around returns a client that runs hook in the place of each call. The hook makes the call, or
// returns an error; its error is the call's. Hooks of hooks run first.
func Around(db *dynamodb.Client, hook func(in any, call func() error) error) *dynamodb.Client {
	return dynamodb.New(db.Options(), func(o *dynamodb.Options) {
		name := fmt.Sprint("Hook", len(o.APIOptions))
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc(name, func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
				err = hook(in.Parameters, func() (err error) {
					out, metadata, err = next.HandleInitialize(ctx, in)
					return err
				})
				return out, metadata, err
			}), middleware.Before)
		})
	})
}
