package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// ForHostsOf returns a handler that accepts only requests whose Host header fits a server that listens on this address:
// a loopback name or address, or the address's own host. This rejects pages of web sites whose DNS names point to this
// machine. A server that listens on all addresses (0.0.0.0, :: or none) accepts any name.
func ForHostsOf(listen string, next http.Handler) http.Handler {
	ownHost, _, err := net.SplitHostPort(listen)
	if err != nil {
		ownHost = listen
	}
	address, _ := netip.ParseAddr(ownHost) // the zero Addr for a name
	if ownHost == "" || address.IsUnspecified() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := hostOf(r.Host); !IsLoopback(host) && !strings.EqualFold(host, ownHost) {
			writeProblem(w, newProblem(http.StatusMisdirectedRequest, "this server does not have the name "+cutEcho(host)+": use the address that it listens on"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// SameOrigin returns a handler that rejects writes by pages of other web sites with a 403. It does not restrict
// programs: browsers name a page's origin, programs don't.
func SameOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, newProblem(http.StatusForbidden, "a page of another origin sent this request: only this server's own pages may write"))
	}))
	return protection.Handler(next)
}

// hostOf returns a Host header without its port and brackets.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return strings.Trim(header, "[]")
}

// IsLoopback reports whether a host, without a port, is a loopback name or address.
func IsLoopback(host string) bool {
	address, _ := netip.ParseAddr(host) // the zero Addr for a name
	return address.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}
