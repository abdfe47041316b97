package system

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// maxRequest is Lambda's largest payload of a synchronous invocation, in bytes.
const maxRequest = 6 << 20

// boundBodies returns a handler that bounds the bytes of the request bodies in flight. It rejects a request beyond that
// with 429. A body of unknown or excessive length counts as maxRequest.
func boundBodies(most int64, next http.Handler) http.Handler {
	var used atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := r.ContentLength
		if n < 0 || n > maxRequest {
			n = maxRequest
		}
		for {
			now := used.Load()
			if n > 0 && now+n > most {
				rejectBody(w)
				return
			}
			if used.CompareAndSwap(now, now+n) {
				break
			}
		}
		defer used.Add(-n)
		next.ServeHTTP(w, r)
	})
}

func rejectBody(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusTooManyRequests)
	fmt.Fprintln(w, `{"title":"Too Many Requests","status":429,"detail":"the bodies of the calls in flight are too large together: send fewer at once"}`)
}

// Bounds of what drainBodies reads of a request.
const (
	maxDrained = 100 << 20
	bodyTime   = 5 * time.Second
)

// drainBodies returns a handler that reads what next left of the body. Many clients send a whole body before they read
// the response. They would get a reset connection instead of a 413.
func drainBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := *r
		open.Body = io.NopCloser(r.Body)
		next.ServeHTTP(w, &open)
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
			_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		}
	})
}
