package httpapi

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/hotshard/hotshard/internal/test/require"
)

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
