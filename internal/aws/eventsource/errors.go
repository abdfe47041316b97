package eventsource

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/cenkalti/backoff/v5"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// ErrNoCredentials is matched by errors of calls for which a credentials provider failed. They are not transient.
var ErrNoCredentials = errors.New("AWS credentials can't be retrieved")

// errNotDynamoDB reports a response with status 200 that is not DynamoDB's.
var errNotDynamoDB = errors.New("the response is not DynamoDB's")

// finalError is an error that retries can't fix.
type finalError struct{ error }

// Final returns an error with the same text for which [IsTransient] returns false.
func Final(err error) error { return finalError{err} }

// IsTransient reports whether the same call may soon succeed: no response arrived, it is not DynamoDB's, the service
// failed, or an iterator is stale. It returns false for throttled and rejected calls, [ErrNoCredentials] and [Final].
func IsTransient(err error) bool {
	if IsStale(err) {
		return true
	}
	if _, ok := errors.AsType[finalError](err); ok || dynamo.IsThrottle(err) || errors.Is(err, ErrNoCredentials) {
		return false
	}
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	if !ok || answer.HTTPStatusCode() == http.StatusOK || answer.HTTPStatusCode() >= http.StatusInternalServerError {
		return true
	}
	if answer.HTTPStatusCode() == http.StatusTooManyRequests {
		return false
	}
	fault, ok := errors.AsType[smithy.APIError](err)
	return !ok || fault.ErrorCode() == "UnknownError" // the response is not DynamoDB's
}

// isRejected reports whether the service rejected the request's parameters.
func isRejected(err error) bool {
	fault, ok := errors.AsType[smithy.APIError](err)
	return ok && (strings.HasSuffix(fault.ErrorCode(), "ValidationException") || fault.ErrorCode() == "SerializationException")
}

// isServerFault reports whether the service failed.
func isServerFault(err error) bool {
	answer, ok := errors.AsType[*smithyhttp.ResponseError](err)
	return ok && answer.HTTPStatusCode() >= http.StatusInternalServerError
}

// Cause returns why a call failed, in few words: the service's error code, the HTTP status, or the innermost error.
func Cause(err error) string {
	if fault, ok := errors.AsType[smithy.APIError](err); ok && fault.ErrorCode() != "UnknownError" {
		return fault.ErrorCode()
	}
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && answer.HTTPStatusCode() >= http.StatusBadRequest {
		return fmt.Sprintf("HTTP status %d", answer.HTTPStatusCode())
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "no answer in time"
	}
	if errors.Is(err, errNotDynamoDB) {
		return "a response that is not DynamoDB's"
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		err = sent.Err
	}
	if network, ok := errors.AsType[*net.OpError](err); ok {
		err = network.Err
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// NewBackOff returns the pauses between attempts to reconnect: about 1 s, then each 60 % longer, up to about 8 s.
func NewBackOff() *backoff.ExponentialBackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.Multiplier, b.RandomizationFactor = time.Second, 1.6, 0.2
	b.MaxInterval = 8 * time.Second
	return b
}

// Retry makes a call until it succeeds, fails with an error that is not transient ([IsTransient]), or ctx or limit (0
// for none) ends. It calls failed with each transient error. If ctx has ended, it returns the error of ctx.
func Retry(ctx context.Context, limit time.Duration, call func() error, failed func(error)) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := call()
		if err == nil {
			return struct{}{}, nil
		}
		if ctx.Err() != nil || !IsTransient(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		failed(err)
		return struct{}{}, err
	}, backoff.WithBackOff(NewBackOff()), backoff.WithMaxElapsedTime(limit))
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
