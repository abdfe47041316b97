package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/danielgtaylor/huma/v2"
)

// echo answers with the id that it was asked for, and knows only some.
func echo(known ...string) Routes {
	type input struct {
		ID   PathName `path:"id"`
		Name []Name   `query:"name,explode"`
	}
	type output struct{ Body []string }
	return func(api *API) {
		Register(api, Operation(ForCallers, http.MethodGet, "/v1/events/{id}", "echo", "Echo", ""),
			func(_ context.Context, in *input) (*output, error) {
				out := &output{Body: []string{string(in.ID)}}
				for _, n := range in.Name {
					out.Body = append(out.Body, string(n))
				}
				for _, k := range known {
					if k == string(in.ID) {
						return out, nil
					}
				}
				return nil, huma.Error404NotFound("no " + string(in.ID))
			})
	}
}

func TestLambdaPaths(t *testing.T) {
	id := "a/b//c#ü 50%41?x/../."
	handler := Lambda(New(slog.New(slog.DiscardHandler), echo(id, "x y", "/", "..")))
	for _, c := range []struct{ path, query, want string }{
		{"/v1/events/" + id, "name=%2F%23%C3%BC%2C1&name=b", `["a/b//c#ü 50%41?x/../.","/#ü,1","b"]`},
		{"/v1/events/a%2Fb%2F%2Fc%23%C3%BC%2050%2541%3Fx%2F..%2F.", "", `["a/b//c#ü 50%41?x/../."]`},
		{"/v1/events/x y", "", `["x y"]`},
		{"/v1/events/%2F", "", `["/"]`},
		{"/v1/events//", "", `["/"]`},
		{"/v1/events/..", "", `[".."]`},
	} {
		request := events.APIGatewayV2HTTPRequest{RawPath: c.path, RawQueryString: c.query}
		request.RequestContext.HTTP.Method = http.MethodGet
		got, err := handler(t.Context(), request)
		if err != nil || got.StatusCode != 200 || got.Body != c.want+"\n" {
			t.Errorf("%s: %d %s, %v", c.path, got.StatusCode, got.Body, err)
		}
	}
	for _, c := range []events.APIGatewayV2HTTPRequest{
		{RawPath: "/v1/events/\x00"}, {RawPath: "/v1/events/a\nb"}, {RawPath: "/v1/events/\x7f"}, {RawPath: "/v1/events/%00"},
		{RawPath: "/v1/events/x y", RawQueryString: "name=a\x01"},
	} {
		c.RequestContext.HTTP.Method = http.MethodGet
		if got, err := handler(t.Context(), c); err != nil || got.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("control characters in %q, %q: %d %s, %v", c.RawPath, c.RawQueryString, got.StatusCode, got.Body, err)
		}
	}
	if _, err := handler(t.Context(), events.APIGatewayV2HTTPRequest{}); err == nil {
		t.Error("an event of another shape is no error")
	}
}

// TestBothRequestIDs: a log line has API Gateway's id, which its access log has as well, beside
// the one that the caller is told.
func TestBothRequestIDs(t *testing.T) {
	var lines strings.Builder
	handler := Lambda(New(slog.New(slog.NewJSONHandler(&lines, nil)), func(api *API) {
		Register(api, Operation(ForCallers, http.MethodGet, "/v1/look", "look", "Look", ""),
			func(ctx context.Context, _ *struct{}) (*struct{}, error) {
				Warn(ctx, "look")
				return nil, nil
			})
	}))
	request := events.APIGatewayV2HTTPRequest{RawPath: "/v1/look"}
	request.RequestContext.HTTP.Method, request.RequestContext.RequestID = http.MethodGet, "JKJaXmPLvHcESHA="
	got, err := handler(t.Context(), request)
	told := got.MultiValueHeaders["X-Request-Id"]
	if len(told) == 0 {
		told = []string{got.Headers["X-Request-Id"]}
	}
	if err != nil || !strings.Contains(lines.String(), `"api_request_id":"JKJaXmPLvHcESHA="`) || !strings.Contains(lines.String(), `"request_id":"`+told[0]+`"`) {
		t.Errorf("%v, told %q, logged %s", err, told, lines.String())
	}
}
