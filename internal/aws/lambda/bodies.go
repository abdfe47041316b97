package lambda

import (
	"net/http"
	"sync/atomic"
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
