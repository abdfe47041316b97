package function_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/internal/test/require"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var errOther = errors.New("other")

func newDirect() *function.DirectTransport {
	return function.NewDirectTransport(function.HTTPTimes{Connect: time.Minute, Whole: time.Minute}, roundTrip(func(*http.Request) (*http.Response, error) { return nil, errOther }))
}

func post(ctx context.Context, t *testing.T, d *function.DirectTransport, url string, body io.Reader) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	require.NoError(t, err)
	resp, err := d.RoundTrip(req)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return fmt.Sprint(resp.StatusCode, " ", string(text)), resp.Body.Close()
}

// TestDirect checks that responses of each form arrive whole, and that a connection is reused unless the server closes it.
// The other transport gets requests that Direct does not support.
func TestDirect(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/early":
			w.WriteHeader(http.StatusEarlyHints)
		case "/chunked":
			_, _ = io.WriteString(w, "chunk ")
			_ = http.NewResponseController(w).Flush()
		case "/close":
			w.Header().Set("Connection", "close")
		case "/none":
			w.WriteHeader(http.StatusNoContent)
			return
		case "/abort":
			panic(http.ErrAbortHandler)
		}
		_, _ = w.Write(text)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	d := newDirect()
	long := strings.Repeat("long", 100_000)
	for _, test := range []struct {
		path, body, want string
		connections      int64 // so far
	}{
		{"/", "a", "200 a", 1}, {"/early", "b", "200 b", 1}, {"/chunked", "c", "200 chunk c", 1}, {"/none", "d", "204 ", 1},
		{"/", long, "200 " + long, 1}, {"/close", "e", "200 e", 1}, {"/", "f", "200 f", 2}, {"/abort", "g", "", 2}, {"/", "h", "200 h", 3},
	} {
		got, err := post(t.Context(), t, d, server.URL+test.path, strings.NewReader(test.body))
		if got != test.want || (err != nil) != (test.want == "") || connections.Load() != test.connections {
			t.Errorf("%s: got %.30q, %v, with %d connections; want %.30q with %d", test.path, got, err, connections.Load(), test.want, test.connections)
		}
	}
	for _, body := range []io.Reader{nil, io.MultiReader(strings.NewReader("x")), strings.NewReader(strings.Repeat("x", 1<<20+1))} {
		if _, err := post(t.Context(), t, d, server.URL, body); !errors.Is(err, errOther) {
			t.Errorf("a body without a length, or a long one: %v", err)
		}
	}
	if _, err := post(t.Context(), t, d, "https://127.0.0.1:1", strings.NewReader("x")); !errors.Is(err, errOther) {
		t.Errorf("TLS: %v", err)
	}
	if _, err := post(t.Context(), t, d, "http://127.0.0.1:1", strings.NewReader("x")); err == nil {
		t.Error("a request to a closed port succeeded")
	}
}

// TestDirectWrites checks that a request is one write to the connection, so that the server reads it at once.
func TestDirectWrites(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	got := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		buffer := make([]byte, 1<<16)
		n, _ := conn.Read(buffer)
		got <- string(buffer[:n])
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more")
	}()
	answer, err := post(t.Context(), t, newDirect(), "http://"+listener.Addr().String(), strings.NewReader("body"))
	if first := <-got; answer != "200 ok" || err != nil || !strings.HasPrefix(first, "POST / HTTP/1.1\r\n") || !strings.HasSuffix(first, "\r\n\r\nbody") {
		t.Errorf("%s, %v; the first read has %q", answer, err, first)
	}
}

// TestDirectCancelled checks that a request ends with its context, and that its connection is then closed.
func TestDirectCancelled(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees the end of the connection after the body
		leave()
		<-r.Context().Done()
		close(ended)
	}))
	defer server.Close()
	if _, err := post(ctx, t, newDirect(), server.URL, strings.NewReader("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	<-ended
}
