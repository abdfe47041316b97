package infra

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// answering has the function of each call of the API.
var answering = map[string]string{
	"POST /v1/events": "ingest", "POST /v1/counters": "ingest", "PUT /v1/leaderboards": "ingest", "POST /v1/scores": "ingest", "PUT /v1/shards": "ingest",
	"GET /v1/counters": "query", "GET /v1/events": "query", "GET /v1/events/{id+}": "query", "GET /v1/rollups": "query", "GET /v1/leaderboards": "query",
	"GET /v1/leaderboards/rank": "query", "GET /v1/shards": "query", "GET /v1/hot-keys": "query", "GET /healthz": "query",
	"GET /openapi.json": "query", "GET /docs": "query", "GET /docs/{file+}": "query",
}

var registered = regexp.MustCompile(`(?:http\.Method(\w+), "|get\(c, httpapi\.\w+, ")(/v1/[^"]+)"`)

// TestRoutes checks that each call which a function registers has an authorized route to that function.
func TestRoutes(t *testing.T) {
	tm := deployed(t)
	routes := tm.of(t, "AWS::ApiGatewayV2::Route")
	got := map[string]string{}
	for id, r := range routes {
		p := r.Properties
		if p.text("AuthorizationType") != "AWS_IAM" {
			t.Errorf("%s: authorization %s, want AWS_IAM", id, p.text("AuthorizationType"))
		}
		integration := tm.at(strings.TrimPrefix(p.text("Target"), "integrations/"))
		if integration.text("PayloadFormatVersion") != "2.0" {
			t.Errorf("%s: payload format %s, want 2.0", id, integration.text("PayloadFormatVersion"))
		}
		got[p.text("RouteKey")] = behind(tm, integration.text("IntegrationUri"))
	}
	for call, function := range answering {
		if got[call] != function {
			t.Errorf("%s goes to %q, want %s", call, got[call], function)
		}
	}
	for _, file := range []string{"../internal/ingest/routes.go", "../internal/query/service.go"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list := registered.FindAllStringSubmatch(string(content), -1)
		if len(list) < 5 {
			t.Errorf("%s registers %q, want 5 calls or more", file, list)
		}
		for _, r := range list {
			key := strings.ToUpper(r[1]) + " " + strings.Replace(r[2], "{id}", "{id+}", 1)
			if r[1] == "" {
				key = "GET" + key
			}
			if got[key] == "" {
				t.Errorf("%s of %s has no route", key, file)
			}
		}
	}
}

// operators are the calls that change settings for all callers, or return all callers' keys.
var operators = []string{"PUT /v1/shards", "PUT /v1/leaderboards", "GET /v1/shards", "GET /v1/hot-keys", "GET /v1/heat"}

// TestTokens checks the authorization and the scopes of each route: a token for data must not be accepted for operators'
// calls.
func TestTokens(t *testing.T) {
	for _, c := range []struct {
		more             map[string]any
		data, operations string // authorization and scopes
	}{
		{nil, "JWT <nil>", "AWS_IAM <nil>"},
		{map[string]any{"jwtScopes": "read,write"}, "JWT [read write]", "AWS_IAM <nil>"},
		{map[string]any{"jwtAdminScopes": []any{"ops", "root"}}, "JWT <nil>", "JWT [ops root]"},
		{map[string]any{"jwtScopes": "hotshard/data", "jwtAdminScopes": "hotshard/ops"}, "JWT [hotshard/data]", "JWT [hotshard/ops]"},
	} {
		context := map[string]any{"auth": "jwt", "jwtIssuer": "https://issuer.example.com/pool", "jwtAudience": "one,two"}
		maps.Copy(context, c.more)
		tm := with(t, context)
		id, authorizer := tm.named(t, "AWS::ApiGatewayV2::Authorizer", "AuthorizerType", "JWT")
		if c := authorizer.Properties.object("JwtConfiguration"); c.text("Issuer") != "https://issuer.example.com/pool" || c.text("Audience") != "[one two]" {
			t.Errorf("authorizer %v", c)
		}
		_, stage := tm.named(t, "AWS::ApiGatewayV2::Stage", "StageName", "$default")
		if format := stage.Properties.object("AccessLogSettings").text("Format"); !strings.Contains(format, `"subject":"$context.authorizer.claims.sub"`) {
			t.Errorf("access log %s", format)
		}
		found := 0
		for _, r := range tm.of(t, "AWS::ApiGatewayV2::Route") {
			p, want := r.Properties, c.data
			if slices.Contains(operators, p.text("RouteKey")) {
				want = c.operations
				found++
			}
			if got := p.text("AuthorizationType") + " " + p.text("AuthorizationScopes"); got != want {
				t.Errorf("%v: %s requires %s, want %s", c.more, p.text("RouteKey"), got, want)
			}
			if is := p.text("AuthorizerId") == "${"+id+"}"; is != (p.text("AuthorizationType") == "JWT") {
				t.Errorf("%s: authorizer of %v", p.text("RouteKey"), p)
			}
		}
		if found != len(operators) {
			t.Errorf("%d routes for operators, want %d", found, len(operators))
		}
	}
}

// TestNothingIsPublic checks that there are no function URLs, and no permission or policy for everyone.
func TestNothingIsPublic(t *testing.T) {
	tm := deployed(t)
	for id, r := range tm.Resources {
		if slices.Contains([]string{"AWS::Lambda::Url", "AWS::S3::AccessPoint"}, r.Type) || r.Properties.text("Principal") == "*" {
			t.Errorf("%s is public", id)
		}
		for _, o := range r.Properties.object("PolicyDocument").objects("Statement") {
			if o.text("Effect") == "Allow" && (strings.Contains(o.text("Principal"), "*") || o["Condition"] == nil) {
				t.Errorf("%s allows %v to everyone, or without a condition", id, o)
			}
		}
	}
}
