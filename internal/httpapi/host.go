package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ForHostsOf answers only requests that name a host by which a server that listens on
// this address is meant to be called: a loopback name or address, or the address's own.
// A page of a web site whose name is made to point to this machine sends that name.
// Others than this machine are meant to call a server that listens on all addresses
// (0.0.0.0, ::, or none), by any name.
func ForHostsOf(listen string, next http.Handler) http.Handler {
	own, _, err := net.SplitHostPort(listen)
	if err != nil {
		own = listen
	}
	if at, err := netip.ParseAddr(own); own == "" || err == nil && at.IsUnspecified() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := hostOf(r.Host); !IsLoopback(host) && !strings.EqualFold(host, own) {
			writeProblem(w, newProblem(http.StatusMisdirectedRequest, "this server is not called "+cut(host)))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostOf is a Host header without its port and brackets.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.Trim(header, "[]")
}

// IsLoopback tells whether a host, without a port, is this machine for itself.
func IsLoopback(host string) bool {
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}
