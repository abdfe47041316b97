package system

import (
	"io"
	"net/http"
	"time"
)

// Bounds of what drainBodies reads of a request.
const (
	maxDrained  = 100 << 20 // bytes
	bodyTimeout = 5 * time.Second
)

// drainBodies returns a handler that calls next and then reads the rest of the request's body, within the bounds. So a
// client that sends its whole body before it reads the response gets a 413, and not a reset connection.
func drainBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		withOpenBody := *r
		withOpenBody.Body = io.NopCloser(r.Body)
		next.ServeHTTP(w, &withOpenBody)
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
			_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		}
	})
}
