package enginetest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/require"
)

// Proxy returns the endpoint of a proxy before an engine. handle gets each call, and passes it to forward or responds
// itself.
func Proxy(t *testing.T, engine string, handle func(w http.ResponseWriter, r *http.Request, forward http.Handler)) string {
	t.Helper()
	to, err := url.Parse(engine)
	require.NoError(t, err)
	forward := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport: dynamolocal.Transport(), ErrorLog: log.New(io.Discard, "", 0), // callers may disconnect
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, forward) }))
	t.Cleanup(server.Close)
	return server.URL
}
