package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// Lambda returns a Lambda handler for API Gateway's HTTP API, payload format 2.0, that calls an HTTP handler. An HTTP
// API decodes a path and cuts it at a question mark, so names in paths can't contain one. It joins the values of a
// repeated header with commas; the handler sees one value.
func Lambda(handler http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, event events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		r, err := requestOf(ctx, event)
		if err != nil {
			return events.APIGatewayV2HTTPResponse{}, err
		}
		w := &response{header: http.Header{}}
		handler.ServeHTTP(w, r)
		return w.forGateway(r.Method == http.MethodHead), nil
	}
}

// requestOf returns the HTTP request of an event. [Caller] returns its caller. An event of another kind is an error,
// and so is a body that isn't base64.
func requestOf(ctx context.Context, event events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	gateway := event.RequestContext
	if gateway.HTTP.Method == "" {
		return nil, fmt.Errorf("the event is not an HTTP API request of payload format 2.0: set the integration's payload format to 2.0")
	}
	body := []byte(event.Body)
	if event.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(event.Body); err != nil {
			return nil, fmt.Errorf("decoding the event's body: %w", err)
		}
	}
	ctx = context.WithValue(WithCaller(ctx, callerOf(gateway.Authorizer)), gatewayKey{}, gateway.RequestID)
	r, err := http.NewRequestWithContext(ctx, gateway.HTTP.Method, "/", bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("converting the event to an HTTP request: %w", err)
	}
	setHeader(r, event)
	r.URL = &url.URL{Path: pathOf(event), RawQuery: event.RawQueryString}
	r.RequestURI = r.URL.RequestURI()
	r.RemoteAddr = gateway.HTTP.SourceIP
	return r, nil
}

func setHeader(r *http.Request, event events.APIGatewayV2HTTPRequest) {
	for name, value := range event.Headers {
		r.Header.Set(name, value)
	}
	if len(event.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(event.Cookies, "; "))
	}
	r.Host = cmp.Or(r.Header.Get("Host"), event.RequestContext.DomainName)
	r.Header.Del("Host")
}

// pathOf returns the path without the stage, with which it begins in an event unless the stage is $default.
func pathOf(event events.APIGatewayV2HTTPRequest) string {
	path := cmp.Or(event.RawPath, event.RequestContext.HTTP.Path)
	if stage := event.RequestContext.Stage; stage != "" && stage != "$default" {
		if rest, ok := strings.CutPrefix(path, "/"+stage); ok && (rest == "" || rest[0] == '/') {
			path = rest
		}
	}
	return cmp.Or(path, "/")
}

// response is an http.ResponseWriter that keeps what is written.
type response struct {
	header, sent http.Header // sent is header as of the first WriteHeader; nil before
	status       int
	body         bytes.Buffer
}

func (w *response) Header() http.Header { return w.header }

// WriteHeader sets the status and fixes the header, as net/http does: later calls and statuses below 200 do nothing.
func (w *response) WriteHeader(status int) {
	if w.sent == nil && status >= http.StatusOK {
		w.status, w.sent = status, w.header.Clone()
	}
}

func (w *response) Write(p []byte) (int, error) {
	if w.sent == nil {
		if len(p) > 0 && w.header.Get("Content-Type") == "" {
			w.header.Set("Content-Type", http.DetectContentType(p))
		}
		w.WriteHeader(http.StatusOK)
	}
	return w.body.Write(p)
}

// forGateway returns the response in API Gateway's form. A body that isn't UTF-8 is in base64, cookies are listed
// apart, and the values of each other header are joined with commas. The response to a HEAD has no body.
func (w *response) forGateway(head bool) events.APIGatewayV2HTTPResponse {
	w.WriteHeader(http.StatusOK) // if the handler set no status
	out := events.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: map[string]string{}, Cookies: w.sent["Set-Cookie"]}
	for name, values := range w.sent {
		if name != "Set-Cookie" {
			out.Headers[name] = strings.Join(values, ",")
		}
	}
	switch body := w.body.Bytes(); {
	case head:
	case utf8.Valid(body):
		out.Body = string(body)
	default:
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return out
}
