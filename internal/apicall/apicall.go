// Package apicall makes calls of hotshard's HTTP API, signed where the API wants that:
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

	"github.com/hotshard/hotshard/internal/awscall"
)

// Client makes calls, each once.
type Client struct {
	Base string // URL of the API, without a path
	Sign Sign   // nil: calls are not signed
	HTTP *http.Client
}

// Sign adds to a request, with this body, what proves who sends it.
type Sign func(ctx context.Context, r *http.Request, body []byte) error

// SignAs signs for API Gateway in a Region. The credentials are asked for with each call, since
// they may expire.
func SignAs(credentials aws.CredentialsProvider, region string) Sign {
	calls := &awscall.Client{Region: region, Credentials: credentials}
	return func(ctx context.Context, r *http.Request, body []byte) error {
		return calls.Sign(ctx, "execute-api", r, body)
	}
}

// Request makes a request of a path, which has the query with it. A nil body is none; any other is
// sent as JSON. Key is the Idempotency-Key, "" for none.
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

// Answer is what the API, or who is before it, answers.
type Answer struct {
	Code   int    // the status of HTTP; 0 without an answer
	Status string // such as 404 Not Found
	Header http.Header
	Body   []byte // JSON; a problem where the status is not 200
}

// maxAnswer bounds the bytes of a body that are read.
const maxAnswer = 64 << 20

// Do sends a request. With an error the answer has what came of it: the status and a part of the
// body, or nothing.
func (c *Client) Do(request *http.Request) (Answer, error) {
	response, err := c.HTTP.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	return Answer{response.StatusCode, response.Status, response.Header, body}, err
}

// Problem is why a call was refused (RFC 9457).
type Problem struct {
	Detail string
	Errors []struct{ Location, Message string }
}

// Problem reads the body as a problem; false where it is none, as a gateway's need not be.
func (a Answer) Problem() (Problem, bool) {
	var p Problem
	err := json.Unmarshal(a.Body, &p)
	return p, err == nil
}
