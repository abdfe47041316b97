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

// TestPagesOfOtherSites checks that a page of another origin can read but not write. Programs send none of the headers.
func TestPagesOfOtherSites(t *testing.T) {
	for _, c := range []struct {
		method, header, value string
		answered              bool
	}{
		{http.MethodPost, "", "", true},
		{http.MethodPost, "Origin", "http://127.0.0.1:8080", true},
		{http.MethodPost, "Origin", "http://127.0.0.1:9000", false},
		{http.MethodPost, "Origin", "https://evil.example", false},
		{http.MethodPost, "Origin", "null", false},
		{http.MethodPost, "Sec-Fetch-Site", "same-origin", true},
		{http.MethodPost, "Sec-Fetch-Site", "none", true},
		{http.MethodPost, "Sec-Fetch-Site", "same-site", false},
		{http.MethodPut, "Sec-Fetch-Site", "cross-site", false},
		{http.MethodDelete, "Sec-Fetch-Site", "cross-site", false},
		{http.MethodGet, "Sec-Fetch-Site", "cross-site", true},
		{http.MethodGet, "Origin", "https://evil.example", true},
		{http.MethodOptions, "Origin", "https://evil.example", true},
	} {
		handler := SameOrigin(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		request := httptest.NewRequestWithContext(t.Context(), c.method, "http://127.0.0.1:8080/v1/counters", nil)
		request.Header.Set("Content-Type", "application/json")
		if c.header != "" {
			request.Header.Set(c.header, c.value)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if (answer.Code == http.StatusOK) != c.answered || !c.answered && answer.Code != http.StatusForbidden {
			t.Errorf("%s with %s: %s: %d %s, want answered %t", c.method, c.header, c.value, answer.Code, answer.Body, c.answered)
		}
	}
}
