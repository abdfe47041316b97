package system

import (
	_ "embed"
	"io"
	"net/http"
	"strings"
)

//go:embed frontpage.html
var frontPage string

// withFrontPage answers a browser that was sent to the API's address, url, by a page that
// says what is here. All else is the API's.
func withFrontPage(api http.Handler, url string) http.Handler {
	page := strings.ReplaceAll(frontPage, "http://127.0.0.1:8080", url)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" || r.Method != http.MethodGet && r.Method != http.MethodHead {
			api.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		_, _ = io.WriteString(w, page) // fails if the client has left
	})
}
