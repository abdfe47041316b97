// Package awscall makes signed calls of AWS services for which this module has no SDK:
//
//	c := awscall.New(config)
//	var answer struct{ AccountLimit struct{ ConcurrentExecutions int } }
//	err := c.Get(ctx, "lambda:GetAccountSettings", "/2016-08-19/account-settings/", &answer)
//	if awscall.Code(err) == "AccessDeniedException" { ... }
//
// It supports three protocols: JSON with the operation in a header, forms with XML responses,
// and paths with JSON responses. It makes up to three attempts if a service throttles or fails.
package awscall

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// Client makes calls in a Region, with credentials.
type Client struct {
	Region      string
	Credentials aws.CredentialsProvider
	// Endpoint returns a service's URL without a path; nil uses AWS's own.
	Endpoint func(service string) string
	// Now returns the time of signatures; nil uses time.Now.
	Now func() time.Time
	// Sleep waits between two attempts; nil uses a timer.
	Sleep func(context.Context, time.Duration)
	// Called receives each call once, before its first attempt; may be nil.
	Called func(Action)
}

// New returns a client with the SDK configuration's Region, credentials and endpoint.
func New(c aws.Config) *Client {
	client := &Client{Region: c.Region, Credentials: c.Credentials}
	if c.BaseEndpoint != nil {
		client.Endpoint = func(string) string { return *c.BaseEndpoint }
	}
	return client
}

// Action is an operation as IAM policies name it, such as lambda:GetAccountSettings. For the services used here, the
// prefix is also the service's name in signatures, and mostly in the host.
type Action string

func (a Action) service() string {
	service, _, _ := strings.Cut(string(a), ":")
	return service
}

// host returns the first part of the endpoint's host. DynamoDB Streams has its own host, and the prefix dynamodb in
// IAM.
func (a Action) host() string {
	if a == "dynamodb:DescribeStream" {
		return "streams.dynamodb"
	}
	return a.service()
}

// Operation returns the part after the colon.
func (a Action) Operation() string {
	_, operation, _ := strings.Cut(string(a), ":")
	return operation
}

// JSON calls a service of the JSON protocol. Target is the prefix of the header X-Amz-Target, such as
// AmazonSSM. In and out are the bodies; out may be nil.
func (c *Client) JSON(ctx context.Context, action Action, target string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: %w", action, err)
	}
	version := "1.1"
	if action.service() == "dynamodb" {
		version = "1.0"
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-" + version}, "X-Amz-Target": {target + "." + action.Operation()}}
	return c.callWithRetries(ctx, action, http.MethodPost, "/", header, body, intoJSON(out))
}

// Query calls a service of the query protocol: a form, and a response in XML. Out is decoded from the
// response's root element; it may be nil.
func (c *Client) Query(ctx context.Context, action Action, version string, parameters url.Values, out any) error {
	form := url.Values{"Action": {action.Operation()}, "Version": {version}}
	for name, values := range parameters {
		form[name] = values
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}
	return c.callWithRetries(ctx, action, http.MethodPost, "/", header, []byte(form.Encode()), func(body []byte) error {
		if out == nil {
			return nil
		}
		return xml.Unmarshal(body, out)
	})
}

// Get requests an escaped path of a service that responds in JSON. Out may be nil.
func (c *Client) Get(ctx context.Context, action Action, path string, out any) error {
	return c.callWithRetries(ctx, action, http.MethodGet, path, http.Header{}, nil, intoJSON(out))
}

func intoJSON(out any) func([]byte) error {
	return func(body []byte) error {
		if out == nil {
			return nil
		}
		return json.Unmarshal(body, out)
	}
}

// Bounds of a call.
const (
	attempts   = 3
	callTime   = 20 * time.Second       // of one attempt
	firstPause = 500 * time.Millisecond // doubled before the last attempt
	maxAnswer  = 4 << 20                // bytes
)

var httpClient = &http.Client{Timeout: callTime}

// callWithRetries makes up to three attempts of a request and decodes the response.
func (c *Client) callWithRetries(ctx context.Context, action Action, method, path string, header http.Header, body []byte, decode func([]byte) error) error {
	if c.Called != nil {
		c.Called(action)
	}
	pause := firstPause
	for attempt := 1; ; attempt++ {
		answer, retryable, err := c.send(ctx, action, method, path, header, body)
		if err == nil {
			if err := decode(answer); err != nil {
				return fmt.Errorf("%s: can't decode the response: %w", action, err)
			}
			return nil
		}
		if !retryable || attempt == attempts || ctx.Err() != nil {
			return err
		}
		c.sleep(ctx, pause)
		pause *= 2
	}
}

// send makes one attempt. It also reports whether another attempt may succeed.
func (c *Client) send(ctx context.Context, action Action, method, path string, header http.Header, body []byte) (answer []byte, retryable bool, err error) {
	request, err := http.NewRequestWithContext(ctx, method, c.endpoint(action.host())+path, bytes.NewReader(body))
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", action, err)
	}
	request.Header = header.Clone()
	if err := c.Sign(ctx, action.service(), request, body); err != nil {
		return nil, false, fmt.Errorf("%s: %w", action, err)
	}
	response, err := httpClient.Do(request)
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", action, err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, true, fmt.Errorf("%s: reading the response: %w", action, err)
	}
	if response.StatusCode == http.StatusOK {
		return answer, false, nil
	}
	fault := faultOf(action, response, answer)
	return nil, fault.transient(), fault
}

// signer caches the signing keys.
var signer = v4.NewSigner()

// Sign adds a Signature Version 4 to a request with this body.
func (c *Client) Sign(ctx context.Context, service string, request *http.Request, body []byte) error {
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("retrieving AWS credentials: %w", err)
	}
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	digest := sha256.Sum256(body)
	if err := signer.SignHTTP(ctx, credentials, request, hex.EncodeToString(digest[:]), service, c.Region, now()); err != nil {
		return fmt.Errorf("signing a call: %w", err)
	}
	return nil
}

func (c *Client) endpoint(service string) string {
	if c.Endpoint != nil {
		return c.Endpoint(service)
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(c.Region, "cn-") {
		domain += ".cn"
	}
	return "https://" + service + "." + c.Region + "." + domain
}

func (c *Client) sleep(ctx context.Context, d time.Duration) {
	if c.Sleep != nil {
		c.Sleep(ctx, d)
		return
	}
	dynamo.Pause(ctx, d)
}

// Account returns the account of the credentials.
func (c *Client) Account(ctx context.Context) (string, error) {
	var answer struct {
		Account string `xml:"GetCallerIdentityResult>Account"`
	}
	err := c.Query(ctx, "sts:GetCallerIdentity", "2011-06-15", nil, &answer)
	if err == nil && answer.Account == "" {
		err = errors.New("sts:GetCallerIdentity: the answer names no account")
	}
	return answer.Account, err
}
