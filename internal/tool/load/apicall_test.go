package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestCalls checks the method, URL, headers and body of calls, and that an invalid call is not sent.
func TestCalls(t *testing.T) {
	sent := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		sent = fmt.Sprintf("%s %s|%s|%s|%s|%s", r.Method, r.URL, r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"), r.Header.Get("Signed"), body)
		if err == nil {
			_, err = io.WriteString(w, `{"n":7}`)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	signed := func(_ context.Context, r *http.Request, body []byte) error {
		r.Header.Set("Signed", fmt.Sprint(len(body)))
		return nil
	}
	unsigned := func(context.Context, *http.Request, []byte) error { return errors.New("no credentials") }
	for _, c := range []struct {
		method, path, key string
		body              any
		sign              Sign
		want              string // "" for an error before the call
	}{
		{http.MethodGet, "/v1/shards?name=%2Fa", "", nil, nil, "GET /v1/shards?name=%2Fa||||"},
		{http.MethodPut, "/v1/shards", "", map[string]any{"shards": nil}, nil, `PUT /v1/shards|application/json|||{"shards":null}`},
		{http.MethodPost, "/v1/events", "k-1", []int{1}, signed, `POST /v1/events|application/json|k-1|3|[1]`},
		{http.MethodGet, "/", "", nil, unsigned, ""},
		{http.MethodPost, "/", "", func() {}, nil, ""},
	} {
		client := &APIClient{Base: server.URL, HTTP: server.Client(), Sign: c.sign}
		var into struct{ N int }
		sent = ""
		if err := client.Call(t.Context(), c.method, c.path, c.key, c.body, &into); (err == nil) != (c.want != "") || sent != c.want || err == nil && into.N != 7 {
			t.Errorf("%s %s: sent %q, %v; want %q", c.method, c.path, sent, err, c.want)
		}
	}
}
