package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
)

// Lambda makes an HTTP handler one for API Gateway's HTTP API, payload format 2.0.
func Lambda(handler http.Handler) func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	adapter := httpadapter.NewV2(handler)
	return func(ctx context.Context, request events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		if request.RequestContext.HTTP.Method == "" {
			return events.APIGatewayV2HTTPResponse{}, fmt.Errorf("the event is not an HTTP API request of payload format 2.0")
		}
		ctx = WithCaller(ctx, callerOf(request.RequestContext.Authorizer))
		path := request.RawPath
		request.RawPath, request.RawQueryString = escaped(path), printable(request.RawQueryString)
		answer, err := adapter.ProxyWithContext(ctx, request)
		if decoded := (&url.URL{Path: path}).EscapedPath(); answer.StatusCode == http.StatusNotFound && decoded != request.RawPath {
			request.RawPath = decoded
			return adapter.ProxyWithContext(ctx, request)
		}
		return answer, err
	}
}

// escaped makes a path one that parses, whether it came percent-encoded, as from
// a function URL, or decoded, as from an HTTP API: what can't stand in a path's
// text is escaped, what is escaped stays. A decoded path with a percent sign in
// it may look like an encoded one; hence the second try above. An HTTP API also
// cuts a path at a question mark, encoded or not, which nobody can undo here.
func escaped(path string) string {
	if _, err := url.PathUnescape(path); err != nil {
		return (&url.URL{Path: path}).EscapedPath()
	}
	return printable(strings.NewReplacer("?", "%3F", "#", "%23", " ", "%20").Replace(path))
}

// printable escapes the control characters of a part of a URL, with which it would not
// parse: they are the caller's mistake, and not the function's.
func printable(text string) string {
	if strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	var out strings.Builder
	for _, c := range []byte(text) {
		if isControl(rune(c)) {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

func isControl(c rune) bool { return c < ' ' || c == 0x7F }
