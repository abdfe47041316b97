package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestHosts checks that a request to a web site's name that resolves to this machine is rejected. A server that
// listens on all addresses accepts it.
func TestHosts(t *testing.T) {
	for _, c := range []struct {
		listen, host string
		answered     bool
	}{
		{"127.0.0.1:8080", "127.0.0.1:8080", true},
		{"127.0.0.1:8080", "localhost:8080", true},
		{"127.0.0.1:8080", "LOCALHOST", true},
		{"127.0.0.1:8080", "[::1]:8080", true},
		{"127.0.0.1:8080", "[::ffff:127.0.0.1]:8080", true},
		{"127.0.0.1:8080", "127.9.9.9:1", true},
		{"127.0.0.1:8080", "evil.example:8080", false},
		{"127.0.0.1:8080", "127.0.0.1.evil.example", false},
		{"127.0.0.1:8080", "localhost.evil.example:8080", false},
		{"127.0.0.1:8080", "10.0.0.1:8080", false},
		{"127.0.0.1:8080", "", false},
		{"[::1]:8080", "[::1]:8080", true},
		{"[::1]:8080", "evil.example", false},
		{"localhost:8080", "evil.example", false},
		{"10.0.0.1:8080", "10.0.0.1:8080", true},
		{"10.0.0.1:8080", "127.0.0.1:8080", true},
		{"10.0.0.1:8080", "evil.example", false},
		{"box.example:8080", "Box.example:8080", true},
		{"0.0.0.0:8080", "evil.example", true},
		{"[::]:8080", "box.example", true},
		{":8080", "box.example", true},
	} {
		handler := ForHostsOf(c.listen, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil)
		request.Host = c.host
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if (answer.Code == http.StatusOK) != c.answered {
			t.Errorf("listening on %s, Host: %s: %d %s, want answered %t", c.listen, c.host, answer.Code, answer.Body, c.answered)
		}
	}
}
