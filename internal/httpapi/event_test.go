package httpapi

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/hotshard/hotshard/internal/test/require"
)

// seen is what a handler finds in a request.
type seen struct {
	Method, Host, Path, Query, URI, Remote, Body string
	Header                                       http.Header
	Cookies                                      []string
	Length                                       int64
}

// observe returns what an HTTP handler finds in the request of an event.
func observe(t *testing.T, event string) seen {
	t.Helper()
	var got seen
	handler := Lambda(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		got = seen{Method: r.Method, Host: r.Host, Path: r.URL.Path, Query: r.URL.RawQuery, URI: r.RequestURI, Remote: r.RemoteAddr,
			Body: string(body), Header: r.Header, Length: r.ContentLength}
		for _, c := range r.Cookies() {
			got.Cookies = append(got.Cookies, c.Name+"="+c.Value)
		}
	}))
	var in events.APIGatewayV2HTTPRequest
	require.NoError(t, json.Unmarshal([]byte(event), &in))
	_, err := handler(t.Context(), in)
	require.NoError(t, err)
	return got
}

// TestLambdaRequest checks the request of an event with every member that API Gateway documents for format 2.0.
func TestLambdaRequest(t *testing.T) {
	got := observe(t, `{
		"version": "2.0", "routeKey": "$default", "rawPath": "/my/path",
		"rawQueryString": "p=1&p=2&q=a%2Fb%2C+c", "queryStringParameters": {"p": "1,2", "q": "a/b, c"},
		"cookies": ["session=a1", "theme=dark"],
		"headers": {"content-type": "application/json", "host": "api.example.com", "accept": "text/html,application/json;q=0.9",
			"idempotency-key": "order,7", "x-empty": "", "cookie": "ignored=1", "content-length": "999"},
		"requestContext": {"accountId": "123456789012", "apiId": "api-id", "stage": "$default", "requestId": "id",
			"authorizer": {"jwt": {"claims": {"sub": "ann"}, "scopes": ["s1"]}},
			"domainName": "id.execute-api.us-east-1.amazonaws.com", "domainPrefix": "id", "time": "12/Mar/2026:19:03:58 +0000", "timeEpoch": 1583348638390,
			"http": {"method": "POST", "path": "/my/path", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "agent"}},
		"body": "{\"a\": \"ü\"}", "pathParameters": {"proxy": "path"}, "isBase64Encoded": false, "stageVariables": {"v": "1"}}`)
	want := seen{Method: "POST", Host: "api.example.com", Path: "/my/path", Query: "p=1&p=2&q=a%2Fb%2C+c", URI: "/my/path?p=1&p=2&q=a%2Fb%2C+c",
		Remote: "192.0.2.1", Body: `{"a": "ü"}`, Length: 11}
	if got.Method != want.Method || got.Host != want.Host || got.Path != want.Path || got.Query != want.Query || got.URI != want.URI ||
		got.Remote != want.Remote || got.Body != want.Body || got.Length != want.Length {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !slices.Equal(got.Cookies, []string{"session=a1", "theme=dark"}) {
		t.Errorf("cookies %q", got.Cookies)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "text/html,application/json;q=0.9", "Idempotency-Key": "order,7", "X-Empty": "", "Host": "",
	} {
		if values := got.Header.Values(name); got.Header.Get(name) != value || len(values) > 1 {
			t.Errorf("%s: %q, want %q", name, values, value)
		}
	}
}

// TestLambdaPath checks paths with and without a stage; TestLambdaPaths has those with escaped characters.
func TestLambdaPath(t *testing.T) {
	for _, c := range []struct{ raw, path, stage, want string }{
		{"/v1/events/a/b", "/v1/events/a/b", "$default", "/v1/events/a/b"},
		{"/prod/v1/events", "/prod/v1/events", "prod", "/v1/events"},
		{"/prod/prod", "/prod/prod", "prod", "/prod"},
		{"/prod", "/prod", "prod", "/"},
		{"/production/v1", "/production/v1", "prod", "/production/v1"},
		{"/v1/events", "/v1/events", "prod", "/v1/events"}, // behind a domain of one's own
		{"/$default/v1", "/$default/v1", "$default", "/$default/v1"},
		{"", "/v1/events", "", "/v1/events"},
		{"", "", "", "/"},
	} {
		event, err := json.Marshal(map[string]any{"rawPath": c.raw, "requestContext": map[string]any{
			"stage": c.stage, "domainName": "d", "http": map[string]any{"method": "GET", "path": c.path}}})
		require.NoError(t, err)
		if got := observe(t, string(event)); got.Path != c.want || got.Host != "d" || got.Body != "" || got.Length != 0 {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestLambdaBody checks bodies in base64, and events that are no requests.
func TestLambdaBody(t *testing.T) {
	const request = `"requestContext":{"http":{"method":"POST"}}`
	if got := observe(t, `{`+request+`,"body":"AP8Kw7w=","isBase64Encoded":true}`); got.Body != "\x00\xff\nü" || got.Length != 5 {
		t.Errorf("%q, %d bytes", got.Body, got.Length)
	}
	handler := Lambda(http.NotFoundHandler())
	for event, want := range map[string]string{
		`{` + request + `,"body":"%","isBase64Encoded":true}`: "illegal base64 data",
		`{}`: "payload format 2.0",
		`{"httpMethod":"GET","path":"/v1/events","headers":{}}`: "payload format 2.0",
		`{"requestContext":{"http":{"method":"A B"}}}`:          "invalid method",
	} {
		var in events.APIGatewayV2HTTPRequest
		require.NoError(t, json.Unmarshal([]byte(event), &in))
		if _, err := handler(t.Context(), in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", event, err, want)
		}
	}
}

// TestLambdaResponse checks the response that API Gateway gets for what a handler wrote.
func TestLambdaResponse(t *testing.T) {
	for _, c := range []struct {
		name, method string
		write        http.HandlerFunc
		want         string
	}{
		{"nothing", "GET", func(http.ResponseWriter, *http.Request) {}, `{"statusCode":200,"headers":{},"multiValueHeaders":null,"body":"","cookies":null}`},
		{"text", "GET", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "ü<")
			w.WriteHeader(500) // too late
			w.Header().Set("X-Late", "1")
			_, _ = io.WriteString(w, "\n")
		}, `{"statusCode":200,"headers":{"Content-Type":"text/plain; charset=utf-8"},"multiValueHeaders":null,"body":"ü\u003c\n","cookies":null}`},
		{"values", "PUT", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("vary", "Origin")
			w.Header().Add("Vary", "Accept")
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "1"})
			http.SetCookie(w, &http.Cookie{Name: "b", Value: "2, 3"})
			w.WriteHeader(103)
			w.WriteHeader(204)
		}, `{"statusCode":204,"headers":{"Vary":"Origin,Accept"},"multiValueHeaders":null,"body":"","cookies":["a=1","b=\"2, 3\""]}`},
		{"binary", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(w, "\x89PNG")
		}, `{"statusCode":200,"headers":{"Content-Type":"image/png"},"multiValueHeaders":null,"body":"iVBORw==","isBase64Encoded":true,"cookies":null}`},
		{"head", "HEAD", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(404)
			_, _ = io.WriteString(w, "\xff")
		}, `{"statusCode":404,"headers":{"Content-Type":"application/json"},"multiValueHeaders":null,"body":"","cookies":null}`},
	} {
		var event events.APIGatewayV2HTTPRequest
		event.RequestContext.HTTP.Method = c.method
		response, err := Lambda(c.write)(t.Context(), event)
		require.NoError(t, err)
		if got, err := json.Marshal(response); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}
