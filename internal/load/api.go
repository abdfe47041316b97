package load

import (
	"bytes"
	"context"
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
)

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 64 << 20 // bytes of a body that are read
)

// api calls hotshard's HTTP API, once for each of its methods' calls.
type api struct {
	base string
	sign func(ctx context.Context, r *http.Request, body []byte) error // nil for nothing
	http *http.Client
}

func newAPI(o Options) *api {
	return &api{base: o.Target, sign: o.Sign, http: &http.Client{
		Timeout: callTimeout,
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConnsPerHost: o.Concurrency + 8, // the probe and the readers
			IdleConnTimeout:     10 * time.Second,
			DisableCompression:  true,
		},
	}}
}

// result is what became of one item of a call.
type result struct {
	Status string `json:"status"`
	Detail string `json:"detail"`
}

func (r result) accepted() bool { return r.Status == "accepted" }

// maybeWritten is in what the API says of a write that DynamoDB did not answer.
const maybeWritten = "it may have been written"

// unsure tells whether the item may have been applied although it was rejected.
func (r result) unsure() bool { return !r.accepted() && strings.Contains(r.Detail, maybeWritten) }

// write posts a body and returns the results of its items, in order. key is the
// Idempotency-Key, "" for none. Errors are callErrors.
func (a *api) write(ctx context.Context, path, key string, body any) ([]result, error) {
	var answer struct {
		Results []result `json:"results"`
	}
	err := a.call(ctx, http.MethodPost, path, key, body, &answer)
	return answer.Results, err
}

// call makes a call and decodes its answer. Path has the query with it; a nil
// body is none. Errors are callErrors.
func (a *api) call(ctx context.Context, method, path, key string, body, into any) error {
	name, _, _ := strings.Cut(path, "?")
	name = method + " " + a.base + name
	req, err := a.request(ctx, method, path, key, body)
	if err != nil {
		return &callError{call: name, err: err}
	}
	resp, err := a.http.Do(req)
	if err != nil {
		var dressed *url.Error // names the call again
		if errors.As(err, &dressed) {
			err = dressed.Err
		}
		return &callError{call: name, again: true, lost: wasSent(err), err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode >= 300 {
		return refusal(name, resp, text)
	}
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return &callError{call: name, again: true, lost: true, err: fmt.Errorf("reading the answer: %w", err)}
	}
	return nil
}

func (a *api) request(ctx context.Context, method, path, key string, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if a.sign != nil {
		return req, a.sign(ctx, req, text)
	}
	return req, nil
}

// wasSent tells whether the call may have reached the API: all but a failure to
// connect.
func wasSent(err error) bool {
	var op *net.OpError
	return !(errors.As(err, &op) && op.Op == "dial")
}

// callError says why a call has no result.
type callError struct {
	call   string
	status int           // HTTP's; 0 without an answer
	again  bool          // trying again may help
	lost   bool          // the call may have been applied all the same
	after  time.Duration // the pause that the API asks for; 0 without
	err    error
}

func (e *callError) Error() string { return e.call + ": " + e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

// refusal makes the error of an answer that is not a success. 429 and 503 say
// that nothing was applied, unless their detail says that it may have been; any
// other 5xx says nothing.
func refusal(name string, resp *http.Response, body []byte) *callError {
	e := &callError{call: name, status: resp.StatusCode, err: problem(resp.Status, body)}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable:
		e.again, e.lost = true, strings.Contains(e.err.Error(), maybeWritten)
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
			e.after = time.Duration(min(seconds, maxPause)) * time.Second
		}
	case resp.StatusCode >= 500:
		e.again, e.lost = true, true
	}
	return e
}

// problem turns problem JSON (RFC 9457) into one line.
func problem(status string, body []byte) error {
	var p struct {
		Detail string `json:"detail"`
		Errors []struct {
			Location string `json:"location"`
			Message  string `json:"message"`
		} `json:"errors"`
	}
	text := status
	if json.Unmarshal(body, &p) == nil && p.Detail != "" {
		text += ": " + p.Detail
	}
	if len(p.Errors) > 0 { // one is enough to go by
		text += fmt.Sprintf(" (%s: %s)", p.Errors[0].Location, p.Errors[0].Message)
	}
	return errors.New(text)
}
