package load

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// APIClient makes calls, without retries.
type APIClient struct {
	Base string // URL of the API, without a path
	Sign Sign   // nil for unsigned calls
	HTTP *http.Client
}

// Sign signs a request with this body.
type Sign func(ctx context.Context, r *http.Request, body []byte) error

// SignAs signs for a service in a Region, such as execute-api for API Gateway. It retrieves the credentials for each call, since they may expire.
func SignAs(credentials aws.CredentialsProvider, service, region string) Sign {
	signer := v4.NewSigner()
	return func(ctx context.Context, r *http.Request, body []byte) error {
		c, err := credentials.Retrieve(ctx)
		if err != nil {
			return fmt.Errorf("reading the AWS credentials: %w", err)
		}
		sum := sha256.Sum256(body)
		return signer.SignHTTP(ctx, c, r, hex.EncodeToString(sum[:]), service, region, time.Now())
	}
}

// Request returns a request for a path with its query. The body is sent as JSON unless it is nil. Key is the
// Idempotency-Key, "" for none.
func (c *APIClient) Request(ctx context.Context, method, path, key string, body any) (*http.Request, error) {
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

// Call makes a call without an Idempotency-Key, and decodes the body of a 200 into into. The error of another response has
// its status and reason.
func (c *APIClient) Call(ctx context.Context, method, path string, body, into any) error {
	request, err := c.Request(ctx, method, path, "", body)
	if err != nil {
		return err
	}
	answer, err := c.Do(request)
	switch {
	case answer.Code == 0:
		return fmt.Errorf("no hotshard API at %s (start one with hotshard local): %w", c.Base, err)
	case answer.Code != http.StatusOK:
		return fmt.Errorf("the API answered %s", answer.Reason())
	case err == nil:
		err = json.Unmarshal(answer.Body, into)
	}
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", c.Base, err)
	}
	return nil
}

// APIAnswer is the response of the API or of a gateway.
type APIAnswer struct {
	Code   int    // HTTP status; 0 without a response
	Status string // such as 404 Not Found
	Header http.Header
	Body   []byte // JSON; a problem unless the status is 200
}

// maxAnswer is the maximum size of a response's body, in bytes.
const maxAnswer = 64 << 20

// Do sends a request. With an error, the answer has what was received: nothing, or the status and the start of the body.
func (c *APIClient) Do(request *http.Request) (APIAnswer, error) {
	response, err := c.HTTP.Do(request)
	if err != nil {
		return APIAnswer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return APIAnswer{response.StatusCode, response.Status, response.Header, body}, err
}

// Reason returns the status and the reasons of an error response (RFC 9457) in one line. A body that is not JSON, as
// from some gateways, has none.
func (a APIAnswer) Reason() string {
	var problem struct {
		Detail string
		Errors []struct{ Location, Message string }
	}
	text := a.Status
	if json.Unmarshal(a.Body, &problem) != nil {
		return text
	}
	if problem.Detail != "" {
		text += ": " + problem.Detail
	}
	for _, e := range problem.Errors {
		text += fmt.Sprintf("; %s: %s", e.Location, e.Message)
	}
	return text
}
