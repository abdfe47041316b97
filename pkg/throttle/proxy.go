package throttle

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// Proxy returns a handler that forwards requests to the engine at target through the limiter. If the engine can't be
// reached, the response is a 502 with DynamoDB's InternalServerError. If a request's body ends early or has malformed
// chunks, the response is a 400 with DynamoDB's SerializationException. GET /_throttle responds with a [Report]. POST
// /_throttle/reset does [Limiter.Restart], and POST /_throttle/split splits partitions; both respond with a Report.
func (l *Limiter) Proxy(target *url.URL) http.Handler {
	control := l.control()
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: l,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if errors.Is(err, errBody) {
				writeError(w, http.StatusBadRequest, "SerializationException", err.Error())
				return
			}
			if r.Context().Err() == nil {
				slog.Error("forwarding to the engine failed", "operation", r.Header.Get("X-Amz-Target"), "error", err)
			}
			writeError(w, http.StatusBadGateway, "InternalServerError", "The engine at "+target.Redacted()+" did not answer: "+err.Error())
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == controlPath || strings.HasPrefix(r.URL.Path, controlPath+"/") {
			control.ServeHTTP(w, r)
			return
		}
		forward.ServeHTTP(w, r)
	})
}
