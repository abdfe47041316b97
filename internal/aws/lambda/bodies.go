package lambda

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// BoundBodies returns a handler that bounds the bytes of the request bodies in flight. It rejects a request beyond that
// with 429, as Lambda does one beyond its concurrency. A body of unknown or excessive length counts as Lambda's largest.
func BoundBodies(most int64, next http.Handler) http.Handler {
	var used atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := r.ContentLength
		if n < 0 || n > maxRequest {
			n = maxRequest
		}
		for {
			now := used.Load()
			if n > 0 && now+n > most {
				reject(w, overBodies)
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

// Bounds of what DrainBodies reads of a request.
const (
	maxDrained = 100 << 20
	drainTime  = 5 * time.Second
)

// DrainBodies returns a handler that reads what next left of the body. Many clients send a whole body before they read
// the response. They would get a reset connection instead of a 413.
func DrainBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := *r
		open.Body = io.NopCloser(r.Body)
		next.ServeHTTP(w, &open)
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTime))
			_, _ = io.CopyN(io.Discard, r.Body, maxDrained)
		}
	})
}
