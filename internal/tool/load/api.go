package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// APIClient calls hotshard's HTTP API, or another one with JSON, without retries.
type APIClient struct {
	Base string // URL of the API, without a path
	Sign Sign   // nil for unsigned calls
	HTTP *http.Client
}

// Sign signs a request, whose body is given as bytes. It adds headers to the request.
type Sign func(ctx context.Context, r *http.Request, body []byte) error

// SignAs returns a Sign for a service in a Region, such as execute-api for API Gateway. Each signature retrieves the
// credentials, since they may expire.
func SignAs(provider aws.CredentialsProvider, service, region string) Sign {
	signer := v4.NewSigner()
	return func(ctx context.Context, r *http.Request, body []byte) error {
		credentials, err := provider.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("reading the AWS credentials: %w", err)
		}
		sum := sha256.Sum256(body)
		return signer.SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), service, region, time.Now())
	}
}

// CallError is the error of a call: no response, an error response, or a response that can't be read.
type CallError struct {
	Status int  // HTTP status; 0 without a response
	Unsent bool // the request could not be built or signed

	call      string        // method and URL
	retryable bool          // a retry may succeed
	ambiguous bool          // the outcome is unknown: the call may have been applied
	pause     time.Duration // the pause before a retry that the API asks for; 0 for none
	err       error
}

func (e *CallError) Error() string { return e.call + ": " + e.err.Error() }
func (e *CallError) Unwrap() error { return e.err }

// maxAnswer is the maximum size of a response's body, in bytes.
const maxAnswer = 64 << 20

// Call calls the API once and decodes the response's JSON into the value that into points to. path includes the query. body is
// sent as JSON unless it is nil. key is the Idempotency-Key; "" is none. Every error is a *CallError.
func (c *APIClient) Call(ctx context.Context, method, path, key string, body, into any) error {
	name, _, _ := strings.Cut(path, "?")
	failed := &CallError{call: method + " " + c.Base + name}
	request, err := c.request(ctx, method, path, key, body)
	if err != nil {
		failed.Unsent, failed.err = true, err
		return failed
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok { // it repeats the method and the URL
			err = wrapped.Err
		}
		failed.retryable, failed.ambiguous, failed.err = true, maybeSent(err), err
		return failed
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	failed.Status = response.StatusCode
	if failed.Status >= 300 {
		failed.readProblem(response, text)
		return failed
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		failed.retryable, failed.ambiguous, failed.err = true, true, fmt.Errorf("reading the response: %w", err)
		return failed
	}
	return nil
}

func (c *APIClient) request(ctx context.Context, method, path, key string, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.Base+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	if c.Sign != nil {
		return request, c.Sign(ctx, request, text)
	}
	return request, nil
}

// maybeSent reports whether a call without a response may have reached the API: not if no connection was made.
func maybeSent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return !ok || op.Op != "dial"
}

// maybeWritten is in the API's explanation of an item or call with an unknown outcome.
const maybeWritten = "it may have been written"

// readProblem sets the error of an error response. A 429 or 503 means that nothing was applied, unless its detail says
// that it may have been. After any other 5xx the outcome is unknown. Other statuses are not retried.
func (e *CallError) readProblem(response *http.Response, body []byte) {
	text := problemText(response.Status, body)
	e.err = errors.New(text)
	switch {
	case e.Status == http.StatusTooManyRequests, e.Status == http.StatusServiceUnavailable:
		e.retryable, e.ambiguous = true, strings.Contains(text, maybeWritten)
		if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
			e.pause = time.Duration(min(seconds, maxRetryAfter)) * time.Second
		}
	case e.Status >= 500:
		e.retryable, e.ambiguous = true, true
	}
}

// problemText returns the status and the reasons of an error response (RFC 9457) in one line. It returns only the
// status if the body is not JSON, as from some gateways.
func problemText(status string, body []byte) string {
	var problem struct {
		Detail string
		Errors []struct{ Location, Message string }
	}
	if json.Unmarshal(body, &problem) != nil {
		return status
	}
	if problem.Detail != "" {
		status += ": " + problem.Detail
	}
	for _, e := range problem.Errors {
		status += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	return status
}
