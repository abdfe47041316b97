package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/test/require"
)

// echo responds with the request's id and names. It counts calls and knows only some ids.
func echo(calls *int, known ...string) Routes {
	type input struct {
		ID   Name   `path:"id"`
		Name []Name `query:"name,explode"`
	}
	type output struct{ Body []string }
	return func(api *API) {
		Register(api, Operation(ForCallers, http.MethodGet, "/v1/events/{id}", "echo", "Echo", ""),
			func(_ context.Context, in *input) (*output, error) {
				*calls++
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

// TestLambdaPaths checks that API Gateway's decoded paths reach the handler unchanged, and control characters in them don't.
func TestLambdaPaths(t *testing.T) {
	id, calls := "a/b//c#ü 50%41?x/../.", 0
	handler := Lambda(New(slog.New(slog.DiscardHandler), echo(&calls, id, "x y", "/", "..", "%2F", "50%")))
	for _, c := range []struct{ path, query, want string }{
		{"/v1/events/" + id, "name=%2F%23%C3%BC%2C1&name=b", `["a/b//c#ü 50%41?x/../.","/#ü,1","b"]`},
		{"/v1/events/x y", "", `["x y"]`},
		{"/v1/events/%2F", "", `["%2F"]`},
		{"/v1/events/50%", "", `["50%"]`},
		{"/v1/events//", "", `["/"]`},
		{"/v1/events/..", "", `[".."]`},
	} {
		request := events.APIGatewayV2HTTPRequest{RawPath: c.path, RawQueryString: c.query}
		request.RequestContext.HTTP.Method = http.MethodGet
		got, err := handler(t.Context(), request)
		if err != nil || got.StatusCode != 200 || got.Body != c.want+"\n" {
			t.Errorf("%s: %d %s, %v; want %s", c.path, got.StatusCode, got.Body, err, c.want)
		}
	}
	for _, c := range []events.APIGatewayV2HTTPRequest{
		{RawPath: "/v1/events/\x00"}, {RawPath: "/v1/events/a\nb"}, {RawPath: "/v1/events/\x7f"},
		{RawPath: "/v1/events/x y", RawQueryString: "name=a\x01"},
	} {
		c.RequestContext.HTTP.Method = http.MethodGet
		if got, err := handler(t.Context(), c); err != nil || got.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("control characters in %q, %q: %d %s, %v; want a 422", c.RawPath, c.RawQueryString, got.StatusCode, got.Body, err)
		}
	}
	calls = 0
	absent := events.APIGatewayV2HTTPRequest{RawPath: "/v1/events/50%41"}
	absent.RequestContext.HTTP.Method = http.MethodGet
	if got, err := handler(t.Context(), absent); err != nil || got.StatusCode != http.StatusNotFound || calls != 1 {
		t.Errorf("an unknown id: %d %s, %v, after %d calls; want a 404 after 1", got.StatusCode, got.Body, err, calls)
	}
	if _, err := handler(t.Context(), events.APIGatewayV2HTTPRequest{}); err == nil {
		t.Error("an event of another shape is no error")
	}
}

// TestBothRequestIDs checks that a log line has API Gateway's request id and the id that is returned to the caller.
func TestBothRequestIDs(t *testing.T) {
	var lines strings.Builder
	handler := Lambda(New(slog.New(slog.NewJSONHandler(&lines, nil)), func(api *API) {
		Register(api, Operation(ForCallers, http.MethodGet, "/v1/look", "look", "Look", ""),
			func(context.Context, *struct{}) (*struct{}, error) {
				return nil, errors.New("broken")
			})
	}))
	request := events.APIGatewayV2HTTPRequest{RawPath: "/v1/look"}
	request.RequestContext.HTTP.Method, request.RequestContext.RequestID = http.MethodGet, "JKJaXmPLvHcESHA="
	got, err := handler(t.Context(), request)
	returned := got.Headers["X-Request-Id"]
	if err != nil || !strings.Contains(lines.String(), `"api_request_id":"JKJaXmPLvHcESHA="`) || !strings.Contains(lines.String(), `"request_id":"`+returned+`"`) {
		t.Errorf("%v, returned %q, logged %s", err, returned, lines.String())
	}
}

// TestCaller checks the caller's name for each kind of API Gateway's authorizer. Sessions of one role are one caller.
func TestCaller(t *testing.T) {
	type output struct{ Body string }
	handler := Lambda(New(slog.New(slog.DiscardHandler), func(api *API) {
		Register(api, Operation(ForCallers, http.MethodGet, "/who", "who", "Who", ""), func(ctx context.Context, _ *struct{}) (*output, error) {
			return &output{Caller(ctx)}, nil
		})
	}))
	for _, c := range []struct{ authorizer, want string }{
		{`null`, ""},
		{`{}`, ""},
		{`{"iam":{"userArn":"arn:aws:iam::123456789012:user/a/caller","accountId":"123456789012"}}`, "iam\narn:aws:iam::123456789012:user/a/caller"},
		{`{"iam":{"userArn":"arn:aws:sts::123456789012:assumed-role/worker/i-1","callerId":"AROA:i-1"}}`, "iam\narn:aws:sts::123456789012:assumed-role/worker"},
		{`{"iam":{"userArn":"arn:aws:sts::123456789012:assumed-role/worker/i-2","callerId":"AROA:i-2"}}`, "iam\narn:aws:sts::123456789012:assumed-role/worker"},
		{`{"iam":{"userArn":"arn:aws-cn:sts::123456789012:assumed-role/worker2/i-1"}}`, "iam\narn:aws-cn:sts::123456789012:assumed-role/worker2"},
		{`{"iam":{"userArn":"arn:aws:sts::210987654321:assumed-role/worker/i-1"}}`, "iam\narn:aws:sts::210987654321:assumed-role/worker"},
		{`{"iam":{"userArn":"arn:aws:sts::123456789012:federated-user/bob"}}`, "iam\narn:aws:sts::123456789012:federated-user/bob"},
		{`{"iam":{"userArn":"","callerId":"AROA:i-1","accountId":"1"}}`, "iam\nAROA"},
		{`{"iam":{"accountId":"123456789012"}}`, "iam\n123456789012"},
		{`{"iam":{"userArn":"arn:aws:sts::1:assumed-role/pool/CognitoIdentityCredentials","cognitoIdentity":{"identityId":"eu-west-1:7","identityPoolId":"p"}}}`, "cognito\neu-west-1:7"},
		{`{"jwt":{"claims":{"iss":"https://i","scope":"a"}}}`, Nameless},
		{`{"jwt":{"claims":{"iss":"https://j","sub":"","client_id":"","azp":""}}}`, Nameless},
		{`{"jwt":{"claims":{"iss":"https://i","sub":"ann","client_id":"app"}}}`, "jwt\nhttps://i\nsub\nann"},
		{`{"jwt":{"claims":{"iss":"https://i","client_id":"app"}}}`, "jwt\nhttps://i\nclient\napp"},
		{`{"jwt":{"claims":{"iss":"https://i","azp":"app"}}}`, "jwt\nhttps://i\nclient\napp"},
		{`{"jwt":{"claims":{"iss":"https://i","sub":"a\\\nb"}}}`, "jwt\nhttps://i\nsub\na\\\\\\nb"},
		{`{"lambda":{"who":"ann"}}`, ""},
	} {
		request := events.APIGatewayV2HTTPRequest{RawPath: "/who"}
		request.RequestContext.HTTP.Method = http.MethodGet
		require.NoError(t, json.Unmarshal([]byte(c.authorizer), &request.RequestContext.Authorizer))
		answer, err := handler(t.Context(), request)
		var got string
		require.NoError(t, json.Unmarshal([]byte(answer.Body), &got))
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v; want %q", c.authorizer, got, err, c.want)
		}
	}
}
