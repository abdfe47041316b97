package system

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// hanging is a proxy before the engine that stops responding on request. read is closed when it has passed a read of a stream.
func hanging(t *testing.T) (endpoint string, hangs *atomic.Bool, read chan struct{}) {
	t.Helper()
	hangs, read = new(atomic.Bool), make(chan struct{})
	var once sync.Once
	endpoint = enginetest.Proxy(t, enginetest.Endpoint(t), func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		if hangs.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that its client disconnects
			<-r.Context().Done()
			return
		}
		forward.ServeHTTP(w, r)
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
			once.Do(func() { close(read) })
		}
	})
	return endpoint, hangs, read
}

// TestEndsWhileEngineHangs checks that the system ends within seconds, with an error that names the unfinished work.
func TestEndsWhileEngineHangs(t *testing.T) {
	endpoint, hangs, read := hanging(t)
	ctx, stop := context.WithCancel(t.Context())
	s, err := Start(ctx, Options{
		Addr: "127.0.0.1:0", Endpoint: endpoint, Prefix: "hang" + strings.ReplaceAll(time.Now().Format("150405.000000"), ".", "-") + "-",
		Window: time.Second, Idle: time.Second, Control: "act", Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	s.pingTimeout = 100 * time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-read
	hangs.Store(true)
	stop()
	select {
	case err = <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the system still runs after 20 s")
	}
	if err == nil || !strings.Contains(err.Error(), "the streams are not drained, so summaries may lack their last writes until the next start: the engine at "+endpoint+" does not answer") {
		t.Errorf("Run returned %v", err)
	}
}
