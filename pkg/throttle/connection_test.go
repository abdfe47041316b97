package throttle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// proxied is a proxy before an engine that describes a table itself and passes other requests to a handler.
type proxied struct {
	*throttle.Limiter
	url     string
	arrived atomic.Int64 // requests at the handler
}

func newProxied(t *testing.T, handle http.HandlerFunc) *proxied {
	t.Helper()
	p := &proxied{}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
			_, _ = io.WriteString(w, describedTable)
			return
		}
		p.arrived.Add(1)
		handle(w, r)
	}))
	t.Cleanup(engine.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	target, err := url.Parse(engine.URL)
	require.NoError(t, err)
	if p.Limiter, err = throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 100_000, Base: transport}); err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(p.Proxy(target))
	t.Cleanup(proxy.Close)
	p.url = proxy.URL
	return p
}

func (p *proxied) send(ctx context.Context, operation, body string) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

const onePut = `{"TableName":"t","Item":{"id":{"S":"a"}}}`

// TestConnectionEnds checks that a request to the engine is cancelled when its caller leaves, and costs its units.
func TestConnectionEnds(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan struct{})
	p := newProxied(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees the end of the connection after the body
		leave()
		<-r.Context().Done()
		close(ended)
	})
	if _, _, err := p.send(ctx, "PutItem", onePut); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	<-ended
	for deadline := time.Now().Add(time.Minute); p.Stats().WriteUnits != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("charged %v units, want 1", p.Stats().WriteUnits)
		}
	}
}

// TestBrokenUpload checks that an incomplete body, or one with malformed chunks, is rejected and costs nothing.
func TestBrokenUpload(t *testing.T) {
	p := newProxied(t, func(http.ResponseWriter, *http.Request) {})
	upload := func(head, body string) string {
		t.Helper()
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n%s\r\n\r\n%s", head, body)
		require.NoError(t, err)
		require.NoError(t, conn.(*net.TCPConn).CloseWrite())
		answer, err := io.ReadAll(conn)
		require.NoError(t, err)
		return string(answer)
	}
	for head, body := range map[string]string{
		"Content-Length: 1000":       onePut,
		"Transfer-Encoding: chunked": "5\r\n{\"Tab\r\nnonsense\r\n",
	} {
		if answer := upload(head, body); !strings.HasPrefix(answer, "HTTP/1.1 400 ") || !strings.Contains(answer, "#SerializationException") {
			t.Errorf("%s: %s", head, answer)
		}
	}
	if n := p.arrived.Load(); n != 0 || p.Stats().WriteUnits != 0 {
		t.Errorf("%d requests reached the engine, %v units were charged", n, p.Stats().WriteUnits)
	}
}

// TestLargestBatches checks a BatchWriteItem of 25 items of 400 KB, and a response of 16 MB, DynamoDB's maximum.
func TestLargestBatches(t *testing.T) {
	const items, kb = 25, 400
	large := `{"Responses":{"t":[{"id":{"S":"` + strings.Repeat("x", 16<<20) + `"}}]}}`
	got := make(chan int, 1)
	p := newProxied(t, func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			RequestItems struct{ T []json.RawMessage }
		}
		switch {
		case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchWriteItem"):
			err := json.NewDecoder(r.Body).Decode(&in)
			if err != nil {
				t.Error(err)
			}
			got <- len(in.RequestItems.T)
			_, _ = io.WriteString(w, `{"UnprocessedItems":{}}`)
		default:
			if text, _ := io.ReadAll(r.Body); strings.Contains(string(text), "ConsistentRead") {
				_, _ = io.WriteString(w, `{"Responses":{}}`) // the limiter's own read
				return
			}
			_, _ = io.WriteString(w, large)
		}
	})
	data := strings.Repeat("QUFB", (kb*1024-10)/3) // in base64
	var puts []string
	for i := range items {
		puts = append(puts, fmt.Sprintf(`{"PutRequest":{"Item":{"id":{"S":"%02d"},"d":{"B":"%s"}}}}`, i, data))
	}
	status, _, err := p.send(t.Context(), "BatchWriteItem", `{"RequestItems":{"t":[`+strings.Join(puts, ",")+`]}}`)
	if err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	if n := <-got; n != items || p.Stats().WriteUnits != items*kb {
		t.Errorf("%d items arrived and cost %v units, want %d and %d", n, p.Stats().WriteUnits, items, items*kb)
	}
	status, answer, err := p.send(t.Context(), "BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`)
	if err != nil || status != http.StatusOK || len(answer) != len(large) {
		t.Errorf("status %d, %d bytes, %v", status, len(answer), err)
	}
}
