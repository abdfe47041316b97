package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// echo responds with the request.
func echo(t *testing.T) *APIClient {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
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
