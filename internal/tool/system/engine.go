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
	started     *dynamolocal.Engine // the engine that the system started; nil for the caller's
	endpoint    string
	folder      string           // of the started engine's data; "" is memory
	db          *dynamodb.Client // a client without a limiter
	pingTimeout time.Duration
}

// Endpoint returns the engine's URL.
func (e *engine) Endpoint() string { return e.endpoint }

// connect starts an engine or, with Options.Endpoint, checks that the caller's engine responds.
func (e *engine) connect(ctx context.Context, options Options) error {
	if e.endpoint = options.Endpoint; e.endpoint != "" {
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
	e.db, e.pingTimeout = dynamolocal.DynamoDB(e.endpoint, ""), pingTimeout
	return nil
}

// heapMB is the size of the engine's heap in MB, enough for several concurrent calls of megabytes.
const heapMB = 512

// dataLoss says whether the data of an engine with this data folder is lost after its end, and what to do.
func dataLoss(folder string) string {
	if folder == "" {
		return "its data was in memory and is lost: start hotshard again, with --data to keep it"
	}
	return "its data is in " + folder + ": start hotshard again"
}

// awaitEnd returns an error when the engine that the system started ends; nil when ctx ends, or without such an engine.
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

// pingTimeout is how long the engine may take to respond while the stream is drained.
const pingTimeout = 5 * time.Second

// contextWhileResponding returns a context that is cancelled when the engine stops responding. The cause is the reason.
func (e *engine) contextWhileResponding(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		for {
			if err := e.ping(ctx); err != nil {
				cancel(fmt.Errorf("the engine at %s does not answer: %w", e.endpoint, err))
			}
			if !dynamo.Pause(ctx, time.Second) {
				return
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// ping returns an error unless the engine responds to a call within pingTimeout.
func (e *engine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.pingTimeout)
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

// checkTimeout is how long CheckEngine waits for a response.
const checkTimeout = 10 * time.Second

// CheckEngine returns an error of one line unless a DynamoDB-compatible engine responds at the endpoint within 10 s.
func CheckEngine(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
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

// shortenError returns the cause of an error of the SDK, without the names of the call and of the request.
func shortenError(err error) error {
	if unanswered, ok := errors.AsType[*url.Error](err); ok {
		return unanswered.Err
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
