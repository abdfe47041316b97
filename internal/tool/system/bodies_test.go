package system

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestLargeBodiesGetAResponse checks that a client which sends 20 MB before it reads gets the rejection.
func TestLargeBodiesGetAResponse(t *testing.T) {
	server := httptest.NewServer(drainBodies(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1000))
		r.Body.Close()
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
	})))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000000\r\n\r\n"+strings.Repeat("x", 20_000_000))
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("response %s, want 413", resp.Status)
	}
}
