package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/hotshard/hotshard/internal/test/require"
)

// echo responds with the request. For /cut it declares more bytes than it sends.
func echo(t *testing.T) *APIClient {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if strings.HasPrefix(r.URL.Path, "/cut") {
			w.Header().Set("Content-Length", "1000")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		fmt.Fprintf(w, "%s %s|%s|%s|%s|%s", r.Method, r.URL, r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"), r.Header.Get("Signed"), body)
	}))
	t.Cleanup(server.Close)
	return &APIClient{Base: server.URL, HTTP: server.Client()}
}

// TestRequests checks the method, URL, headers and body of requests, and that an invalid request is not sent.
func TestRequests(t *testing.T) {
	client := echo(t)
	signed := func(_ context.Context, r *http.Request, body []byte) error {
		r.Header.Set("Signed", fmt.Sprint(len(body)))
		return nil
	}
	for _, c := range []struct {
		method, path, key string
		body              any
		sign              Sign
		want              string
	}{
		{http.MethodGet, "/v1/shards?name=%2Fa", "", nil, nil, "GET /v1/shards?name=%2Fa||||"},
		{http.MethodPut, "/v1/shards", "", map[string]any{"shards": nil}, nil, `PUT /v1/shards|application/json|||{"shards":null}`},
		{http.MethodPost, "/v1/events", "k-1", []int{1}, signed, `POST /v1/events|application/json|k-1|3|[1]`},
	} {
		client.Sign = c.sign
		request, err := client.Request(t.Context(), c.method, c.path, c.key, c.body)
		require.NoError(t, err)
		answer, err := client.Do(request)
		if err != nil || answer.Code != http.StatusOK || answer.Status != "200 OK" || string(answer.Body) != c.want {
			t.Errorf("%s: %s, request %q, %v; want %q", c.path, answer.Status, answer.Body, err, c.want)
		}
	}
	client.Sign = func(context.Context, *http.Request, []byte) error { return errors.New("no credentials") }
	if _, err := client.Request(t.Context(), http.MethodGet, "/", "", nil); err == nil {
		t.Error("Request returned no error although signing failed")
	}
	client.Sign = nil
	if _, err := client.Request(t.Context(), http.MethodPost, "/", "", func() {}); err == nil {
		t.Error("Request accepted a body that JSON can't encode")
	}
}

// TestIncompleteResponse checks that the error of an incomplete response comes with its status and the received bytes.
func TestIncompleteResponse(t *testing.T) {
	client := echo(t)
	request, err := client.Request(t.Context(), http.MethodGet, "/cut", "", nil)
	require.NoError(t, err)
	answer, err := client.Do(request)
	if err == nil || answer.Code != http.StatusTooManyRequests || !strings.HasPrefix(string(answer.Body), "GET /cut") {
		t.Errorf("incomplete response: %+v, %v; want 429, its begin and an error", answer, err)
	}
	client.Base = "http://127.0.0.1:1" // no other process can listen there
	if request, err = client.Request(t.Context(), http.MethodGet, "/", "", nil); err != nil {
		t.Fatal(err)
	}
	if answer, err = client.Do(request); err == nil || answer.Code != 0 {
		t.Errorf("without a server: %+v, %v", answer, err)
	}
}

// TestProblems checks that only problem JSON is read as a problem.
func TestReason(t *testing.T) {
	for body, want := range map[string]string{
		`{"status":422,"detail":"no","errors":[{"location":"body.x","message":"is bad","value":1}]}`: "422 Bad: no; body.x: is bad",
		"<html>": "422 Bad",
	} {
		if got := (APIAnswer{Status: "422 Bad", Body: []byte(body)}).Reason(); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestSignAs checks the service and the Region of a signature. The tests of cmd/hotshard verify the signature itself.
func TestSignAs(t *testing.T) {
	client := &APIClient{Base: "http://x", Sign: SignAs(credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", ""), "execute-api", "eu-north-1")}
	request, err := client.Request(t.Context(), http.MethodGet, "/", "", nil)
	if err != nil || !strings.Contains(request.Header.Get("Authorization"), "/eu-north-1/execute-api/") {
		t.Errorf("headers %v, %v", request.Header, err)
	}
}
