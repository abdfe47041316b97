package system

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// engine is the DynamoDB-compatible engine of the system.
type engine struct {
	started       *dynamolocal.Engine // the started engine; nil for the caller's endpoint
	endpoint      string
	folder        string           // of the started engine's data; "" is memory
	db            *dynamodb.Client // without limiters
	answerTimeout time.Duration    // timeout of a response at the end
}

// Endpoint returns the engine's URL.
func (e *engine) Endpoint() string { return e.endpoint }

// connect starts an engine, or checks that the caller's engine responds.
func (e *engine) connect(ctx context.Context, options Options) error {
	e.endpoint = options.Endpoint
	if e.endpoint != "" {
		if err := CheckEngine(ctx, e.endpoint); err != nil {
			return err
		}
	} else {
		started, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{DataDir: options.DataDir, SharedDB: true, HeapMB: heapMB, Notice: options.Notices})
		if err != nil {
			return err
		}
		e.started, e.endpoint, e.folder = started, started.Endpoint(), options.DataDir
	}
	e.db, e.answerTimeout = dynamolocal.DynamoDB(e.endpoint, ""), answerTime
	return nil
}

// heapMB is the engine's heap, enough for several concurrent calls of megabytes.
const heapMB = 512

// dataLoss describes what is lost when an engine with this data folder ends.
func dataLoss(folder string) string {
	if folder == "" {
		return "its data was in memory and is lost: start hotshard again, with --data to keep it"
	}
	return "its data is in " + folder + ": start hotshard again"
}

// awaitEnd returns nil when ctx ends. It returns an error if the engine that the system started ends before.
func (e *engine) awaitEnd(ctx context.Context) error {
	if e.started == nil {
		return nil
	}
	select {
	case <-e.started.Done():
		return fmt.Errorf("the engine ended; %s: %w", dataLoss(e.folder), e.started.Err())
	case <-ctx.Done():
		return nil
	}
}

// answerTime is the timeout of the engine's responses at the end.
const answerTime = 5 * time.Second

// contextWhileItAnswers returns a context that is cancelled when the engine stops responding; the cause is the reason.
func (e *engine) contextWhileItAnswers(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		for {
			if err := e.ping(ctx); err != nil {
				end(fmt.Errorf("the engine at %s does not answer: %w", e.endpoint, err))
			}
			if !dynamo.Pause(ctx, time.Second) {
				return
			}
		}
	}()
	return ctx, func() { end(nil) }
}

func (e *engine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.answerTimeout)
	defer cancel()
	_, err := e.db.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	if ctx.Err() != nil {
		return ctx.Err() // clearer than the client's error
	}
	return err
}

// stop ends the engine if the system started it.
func (e *engine) stop() error {
	if e.started == nil {
		return nil
	}
	return e.started.Stop()
}

// checkTime is the timeout of an engine that the system did not start.
const checkTime = 10 * time.Second

// CheckEngine returns an error of one line, with the URL and the reason, unless a DynamoDB-compatible engine responds
// at a URL.
func CheckEngine(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	out, err := dynamolocal.DynamoDB(endpoint, "").ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	if err == nil && out.TableNames == nil {
		err = errors.New("its answer to ListTables has no TableNames")
	}
	if err != nil {
		return fmt.Errorf("no DynamoDB-compatible engine at %s: %w", endpoint, shortenError(err))
	}
	return nil
}

// shortenError shortens the SDK's chain of errors to its cause.
func shortenError(err error) error {
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return unsent.Err
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != unknownCode {
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return fmt.Errorf("its answer to ListTables has HTTP status %d and is not DynamoDB's", answer.HTTPStatusCode())
	}
	return err
}

// unknownCode is the SDK's code for a response without an error code.
const unknownCode = "UnknownError"
