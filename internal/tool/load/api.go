package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const callTimeout = 30 * time.Second

// api calls hotshard's HTTP API.
type api struct {
	client  *APIClient
	retries int // maximum number of retries of a call
}

func newAPI(o Options) *api {
	return &api{retries: o.Retries, client: &APIClient{Base: o.Target, Sign: o.Sign, HTTP: &http.Client{
		Timeout: callTimeout,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: o.Concurrency,
			IdleConnTimeout:     10 * time.Second,
			DisableCompression:  true,
		},
	}}}
}

// result is the API's result of one item of a call.
type result struct {
	Status string `json:"status"`
	Detail string `json:"detail"`
}

func (r result) accepted() bool { return r.Status == "accepted" }

// maybeWritten is in the detail of an item with an unknown outcome.
const maybeWritten = "it may have been written"

// ambiguous reports whether a rejected item may have been applied.
func (r result) ambiguous() bool { return !r.accepted() && strings.Contains(r.Detail, maybeWritten) }

// write posts a body and returns the results of its items, in order. key is the Idempotency-Key, "" for none. Errors
// are callErrors.
func (a *api) write(ctx context.Context, path, key string, body any) ([]result, error) {
	var answer struct {
		Results []result `json:"results"`
	}
	err := a.callOnce(ctx, http.MethodPost, path, key, body, &answer)
	return answer.Results, err
}

// callOnce makes a call once and decodes its response. Path includes the query; the body may be nil. Errors are callErrors.
func (a *api) callOnce(ctx context.Context, method, path, key string, body, into any) error {
	name, _, _ := strings.Cut(path, "?")
	name = method + " " + a.client.Base + name
	request, err := a.client.Request(ctx, method, path, key, body)
	if err != nil {
		return &callError{call: name, err: err}
	}
	answer, err := a.client.Do(request)
	switch {
	case answer.Code == 0:
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // it repeats the method and the URL
			err = wrapped.Err
		}
		return &callError{call: name, retryable: true, ambiguous: wasSent(err), err: err}
	case answer.Code >= 300:
		return responseError(name, answer)
	case err == nil:
		err = json.Unmarshal(answer.Body, into)
	}
	if err != nil {
		return &callError{call: name, retryable: true, ambiguous: true, err: fmt.Errorf("reading the answer: %w", err)}
	}
	return nil
}

// wasSent reports whether the call may have reached the API, which is true unless the connection failed.
func wasSent(err error) bool {
	var op *net.OpError
	return !(errors.As(err, &op) && op.Op == "dial")
}

// callError is the reason why a call has no result.
type callError struct {
	call      string
	status    int           // HTTP status; 0 without a response
	retryable bool          // a retry may succeed
	ambiguous bool          // the call may have been applied
	after     time.Duration // the pause that the API asks for; 0 for none
	err       error
}

func (e *callError) Error() string { return e.call + ": " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// responseError returns the error of an error response. A 429 or 503 means that nothing was applied, unless its detail
// says that it may have been. After any other 5xx the outcome is unknown.
func responseError(name string, answer APIAnswer) *callError {
	e := &callError{call: name, status: answer.Code, err: errors.New(answer.Reason())}
	switch {
	case answer.Code == http.StatusTooManyRequests, answer.Code == http.StatusServiceUnavailable:
		e.retryable, e.ambiguous = true, strings.Contains(e.err.Error(), maybeWritten)
		if seconds, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && seconds > 0 {
			e.after = time.Duration(min(seconds, maxPause)) * time.Second
		}
	case answer.Code >= 500:
		e.retryable, e.ambiguous = true, true
	}
	return e
}
