// Package apicall calls hotshard's HTTP API, and signs the calls if the API requires it:
//
//	client := &apicall.Client{Base: "http://127.0.0.1:8080", HTTP: http.DefaultClient}
//	request, err := client.Request(ctx, http.MethodGet, "/v1/shards", "", nil)
//	answer, err := client.Do(request)
//	if answer.Code == http.StatusOK {
//		err = json.Unmarshal(answer.Body, &shards)
//	}
package apicall

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/hotshard/hotshard/internal/base/awscall"
)

// Client makes calls, without retries.
type Client struct {
	Base string // URL of the API, without a path
	Sign Sign   // nil for unsigned calls
	HTTP *http.Client
}

// Sign signs a request with this body.
type Sign func(ctx context.Context, r *http.Request, body []byte) error

// SignAs signs for API Gateway in a Region. It retrieves the credentials for each call, since they may expire.
func SignAs(credentials aws.CredentialsProvider, region string) Sign {
	calls := &awscall.Client{Region: region, Credentials: credentials}
	return func(ctx context.Context, r *http.Request, body []byte) error {
		return calls.Sign(ctx, "execute-api", r, body)
	}
}

// Request returns a request for a path with its query. The body is sent as JSON unless it is nil. Key is the
// Idempotency-Key, "" for none.
func (c *Client) Request(ctx context.Context, method, path, key string, body any) (*http.Request, error) {
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

// Answer is the response of the API or of a gateway.
type Answer struct {
	Code   int    // HTTP status; 0 without a response
	Status string // such as 404 Not Found
	Header http.Header
	Body   []byte // JSON; a problem unless the status is 200
}

// maxAnswer is the maximum size of a response's body, in bytes.
const maxAnswer = 64 << 20

// Do sends a request. With an error, the answer has what was received: nothing, or the status and the start of the body.
func (c *Client) Do(request *http.Request) (Answer, error) {
	response, err := c.HTTP.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return Answer{response.StatusCode, response.Status, response.Header, body}, err
}

// Problem is the reason of an error response (RFC 9457).
type Problem struct {
	Detail string
	Errors []struct{ Location, Message string }
}

// Problem parses the body as a problem. It returns false if the body is not JSON, as from some gateways.
func (a Answer) Problem() (Problem, bool) {
	var p Problem
	err := json.Unmarshal(a.Body, &p)
	return p, err == nil
}
