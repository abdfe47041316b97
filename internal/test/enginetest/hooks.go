package enginetest

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
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

// Limited returns a client behind a partition limiter, and the limiter.
func Limited(t testing.TB, db *dynamodb.Client, o throttle.Options) (*dynamodb.Client, *throttle.Limiter) {
	t.Helper()
	o.Base = dynamolocal.Transport()
	limits, err := throttle.New(o)
	require.NoError(t, err)
	return dynamodb.New(db.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} }), limits
}

// Metered returns a client, and a limiter that counts its capacity units as AWS would charge them.
func Metered(t testing.TB, db *dynamodb.Client) (*dynamodb.Client, *throttle.Limiter) {
	t.Helper()
	return Limited(t, db, throttle.Options{Partitions: 1, PartitionWCU: 100_000, PartitionRCU: 100_000})
}
