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

	"github.com/hotshard/hotshard/internal/local"
)

// engine is what answers as DynamoDB.
type engine struct {
	own      *local.Engine // that was started; nil with an endpoint of the caller's
	endpoint string
	db       *dynamodb.Client // past all limiters
	patience time.Duration    // with it when it does not answer, at the end
}

// Endpoint is the engine's URL.
func (e *engine) Endpoint() string { return e.endpoint }

// reach starts an engine, or finds out whether the caller's answers.
func (e *engine) reach(ctx context.Context, o Options) error {
	e.endpoint = o.Endpoint
	if e.endpoint != "" {
		if err := CheckEngine(ctx, e.endpoint); err != nil {
			return err
		}
	} else {
		own, err := local.StartEngine(ctx, local.Options{DataDir: o.DataDir, SharedDB: true, Notice: o.Notices})
		if err != nil {
			return err
		}
		e.own, e.endpoint = own, own.Endpoint()
	}
	e.db, e.patience = local.DynamoDB(e.endpoint, ""), answerTime
	return nil
}

// watch returns when ctx ends; with an error before, when the engine ends that was started.
func (e *engine) watch(ctx context.Context) error {
	if e.own == nil {
		return nil
	}
	select {
	case <-e.own.Done():
		return fmt.Errorf("the engine ended: %w", e.own.Err())
	case <-ctx.Done():
		return nil
	}
}

// answerTime is what an engine is given to answer in, at the end.
const answerTime = 5 * time.Second

// whileItAnswers returns a context that ends, with the reason as its cause, when the
// engine does not answer.
func (e *engine) whileItAnswers(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := e.ping(ctx); err != nil {
				end(fmt.Errorf("the engine at %s does not answer: %w", e.endpoint, err))
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return ctx, func() { end(nil) }
}

func (e *engine) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	_, err := e.db.ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	if ctx.Err() != nil {
		return ctx.Err() // plainer than the client's
	}
	return err
}

// stop ends an engine that was started.
func (e *engine) stop() error {
	if e.own == nil {
		return nil
	}
	return e.own.Stop()
}

// checkTime bounds the wait for an engine that is not ours.
const checkTime = 10 * time.Second

// CheckEngine finds out whether a DynamoDB-compatible engine answers at a URL. If
// not, the error is one line with the URL and the reason.
func CheckEngine(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	out, err := local.DynamoDB(endpoint, "").ListTables(ctx, &dynamodb.ListTablesInput{Limit: aws.Int32(1)})
	if err == nil && out.TableNames == nil {
		err = errors.New("its answer to ListTables has no TableNames")
	}
	if err != nil {
		return fmt.Errorf("no DynamoDB-compatible engine at %s: %w", endpoint, reason(err))
	}
	return nil
}

// reason takes from the SDK's chain of errors what a person needs.
func reason(err error) error {
	if unsent, ok := errors.AsType[*url.Error](err); ok {
		return unsent.Err
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() != unknownCode {
		return fmt.Errorf("%s: %s", api.ErrorCode(), api.ErrorMessage())
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return fmt.Errorf("it answers ListTables with HTTP status %d and no more that DynamoDB would", answer.HTTPStatusCode())
	}
	return err
}

// unknownCode is the SDK's for an answer that names none.
const unknownCode = "UnknownError"
