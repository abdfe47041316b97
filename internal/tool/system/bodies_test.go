package system

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
)

// TestBodiesInFlightAreBounded makes 40 concurrent calls of 2.8 MB. Those that fit into the bound are served, and the
// others get 429 with Retry-After. The bytes are available again after the calls.
func TestBodiesInFlightAreBounded(t *testing.T) {
	const most, calls = 8 * 3 << 20, 40
	body := strings.Repeat("x", 2_800_000)
	held, begun := make(chan struct{}), make(chan struct{}, calls)
	handler := boundBodies(most, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-held
	}))
	send := func(body string, length int64) *httptest.ResponseRecorder {
		request, answer := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/events", strings.NewReader(body)), httptest.NewRecorder()
		request.ContentLength = length
		handler.ServeHTTP(answer, request)
		return answer
	}
	responses, served := make(chan *httptest.ResponseRecorder, calls), most/len(body)
	var group sync.WaitGroup
	for range calls {
		group.Go(func() { responses <- send(body, int64(len(body))) })
	}
	for range served {
		<-begun
	}
	for range calls - served {
		if a := <-responses; a.Code != http.StatusTooManyRequests || a.Header().Get("Retry-After") == "" || !strings.Contains(a.Body.String(), "too large together") {
			t.Errorf("response %d %v %s, want 429 with Retry-After", a.Code, a.Header(), a.Body)
		}
	}
	if a := send(body, -1); a.Code != http.StatusTooManyRequests {
		t.Errorf("a body of unknown length: %d, want 429", a.Code)
	}
	close(held)
	group.Wait()
	for name, length := range map[string]int64{"the same": int64(len(body)), "of unknown length": -1, "far too long": 1 << 40} {
		if a := send(body, length); a.Code != http.StatusOK {
			t.Errorf("%s, after the calls: %d, want 200", name, a.Code)
		}
	}
	if len(begun) != 3 {
		t.Errorf("%d calls were served at once, want %d", served+len(begun)-3, served)
	}
}

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
