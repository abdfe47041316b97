package system

import (
	"io"
	"net/http"
	"time"
)

// Bounds of what drainBodies reads of a request.
const (
	maxDrained = 100 << 20
	bodyTime   = 5 * time.Second
)

// drainBodies returns a handler that reads what next left of the body, within the bounds. Many clients send a whole body
// before they read the response: without the reading they would get a reset connection instead of a 413.
func drainBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		withOpenBody := *r
		withOpenBody.Body = io.NopCloser(r.Body)
		next.ServeHTTP(w, &withOpenBody)
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
			_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		}
	})
}
