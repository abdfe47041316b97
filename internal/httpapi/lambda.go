package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// Lambda returns a Lambda handler for API Gateway's HTTP API, payload format 2.0, that calls an HTTP handler. An HTTP
// API decodes a path and cuts it at a question mark, so names in paths can't contain one.
func Lambda(handler http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	adapter := httpadapter.NewV2(handler)
	return func(ctx context.Context, request events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if request.RequestContext.HTTP.Method == "" {
			return events.APIGatewayV2HTTPResponse{}, fmt.Errorf("the event is not an HTTP API request of payload format 2.0")
		}
		request.RawPath = (&url.URL{Path: request.RawPath}).EscapedPath()
		request.RawQueryString = controls.ReplaceAllStringFunc(request.RawQueryString, url.QueryEscape)
		return adapter.ProxyWithContext(WithCaller(ctx, callerOf(request.RequestContext.Authorizer)), request)
	}
}

// controls matches the characters that the adapter can't parse in a query string.
var controls = regexp.MustCompile(`[\x00-\x1f\x7f]`)
