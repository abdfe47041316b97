package throttle

import (
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// Proxy returns a handler that forwards requests to the engine at target through the limiter.
// If the engine can't be reached, the response is a 502 with DynamoDB's InternalServerError. If the body breaks off or
// is malformed, as chunks may be, it is a 400 with the SerializationException.
// GET /_throttle responds with a [Report]. POST /_throttle/reset does [Limiter.Restart], and POST
// /_throttle/split splits partitions; both respond with a Report, too.
func (l *Limiter) Proxy(target *url.URL) http.Handler {
	control := l.control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == controlPath || strings.HasPrefix(r.URL.Path, controlPath+"/") {
			control.ServeHTTP(w, r)
			return
		}
		l.forward(w, r, target)
	})
}

// forward forwards a request to the engine. It does less than httputil.ReverseProxy, which copies each header twice and
// has a new buffer for each response.
func (l *Limiter) forward(w http.ResponseWriter, r *http.Request, target *url.URL) {
	resp, err := l.RoundTrip(engineRequest(r, target))
	switch {
	case errors.Is(err, errBody):
		writeError(w, http.StatusBadRequest, "SerializationException", err.Error())
		return
	case err != nil:
		if r.Context().Err() == nil {
			slog.Error("forwarding to the engine failed", "operation", r.Header.Get("X-Amz-Target"), "error", err)
		}
		writeError(w, http.StatusBadGateway, "InternalServerError", "The engine at "+target.Redacted()+" did not answer: "+err.Error())
		return
	}
	defer resp.Body.Close()
	removeHopHeaders(resp.Header)
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler) // so that the caller sees that the response broke off
	}
}

func engineRequest(r *http.Request, target *url.URL) *http.Request {
	out := r.WithContext(r.Context())
	out.URL = &url.URL{
		Scheme: target.Scheme, User: target.User, Host: target.Host,
		Path: strings.TrimSuffix(target.Path, "/") + r.URL.Path, RawQuery: r.URL.RawQuery,
	}
	out.Host, out.RequestURI, out.Close = "", "", false
	out.Header = maps.Clone(r.Header)
	removeHopHeaders(out.Header)
	return out
}

// removeHopHeaders removes the headers that are for one connection:
// https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1
func removeHopHeaders(h http.Header) {
	for _, names := range h["Connection"] {
		for name := range strings.SplitSeq(names, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect"} {
		delete(h, name)
	}
}
