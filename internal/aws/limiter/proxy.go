package limiter

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
)

// Proxy returns a handler that forwards requests to the engine at target through the limiter.
// If the engine can't be reached, the response is a 502 with DynamoDB's InternalServerError.
func (l *Limiter) Proxy(target *url.URL) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:    l,
		ErrorHandler: unreachable,
	}
}

func unreachable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		slog.Error("forwarding to the engine failed", "operation", r.Header.Get("X-Amz-Target"), "error", err)
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(http.StatusBadGateway)
	io.WriteString(w, `{"__type":"`+exceptionPrefix+`InternalServerError","message":"The engine did not answer."}`)
}
