package function_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/function"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// server is a fake of DynamoDB over TLS. It responds to all calls alike after hold. A call for which hang returns true gets
// no response.
type server struct {
	*httptest.Server
	hold   time.Duration
	hang   func(operation string) bool
	calls  sync.Map // calls of each operation: *atomic.Int64
	opened atomic.Int64
	over   chan struct{} // closed when the test ends
}

func newServer(tb testing.TB) *server {
	s := &server{over: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.opened.Add(1)
		}
	}
	s.StartTLS()
	tb.Cleanup(func() { close(s.over); s.Close() })
	return s
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	s.count(operation).Add(1)
	if s.hang != nil && s.hang(operation) {
		<-s.over
		return
	}
	time.Sleep(s.hold)
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = w.Write([]byte("{}")) // the client may be gone
}

func (s *server) count(operation string) *atomic.Int64 {
	n, _ := s.calls.LoadOrStore(operation, &atomic.Int64{})
	return n.(*atomic.Int64)
}

func (s *server) config() aws.Config {
	return aws.Config{Region: "us-east-1", BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider("k", "s", "")}
}

// client returns a client as functions have it, which trusts the server.
func (s *server) client(times function.HTTPTimeouts) *dynamodb.Client {
	config, h := s.config(), function.NewHTTPClient(times)
	h.Transport.(*http.Transport).TLSClientConfig.RootCAs = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	config.HTTPClient = h
	return dynamodb.NewFromConfig(config)
}

// Times of a client that times out early, and of one that waits for a busy machine.
var (
	short   = function.HTTPTimeouts{Connect: 20 * time.Second, Response: 150 * time.Millisecond, Whole: 20 * time.Second}
	patient = function.HTTPTimeouts{Connect: 20 * time.Second, Response: 20 * time.Second, Whole: 20 * time.Second}
)

var now = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// TestAttemptTimeout checks that a time-out of one attempt is early. Then an idempotent write is retried, and any other
// returns its unknown outcome.
func TestAttemptTimeout(t *testing.T) {
	t.Parallel()
	for operation, c := range map[string]struct {
		again bool
		write func(context.Context, *dynamodb.Client, *shardmap.Map) error
	}{
		"PutItem": {true, func(ctx context.Context, client *dynamodb.Client, view *shardmap.Map) error {
			return events.NewWriter(client, "items", view, events.Options{}).Put(ctx, []events.Event{{Entity: "e", ID: "1", Time: now}}, now)[0]
		}},
		"UpdateItem": {false, func(ctx context.Context, client *dynamodb.Client, view *shardmap.Map) error {
			return counters.NewWriter(client, "items", view, counters.Options{}).Add(ctx, "c", 1, now)
		}},
		"TransactWriteItems": {true, func(ctx context.Context, client *dynamodb.Client, view *shardmap.Map) error {
			adder := counters.NewWriter(client, "items", view, counters.Options{})
			_, err := once.New(client, "items", once.Options{}).Do(ctx, once.Call{Key: "k"}, now, func(ctx context.Context) ([]shardmap.Write, error) {
				return []shardmap.Write{adder.AddTransact(ctx, "c", 1, now)}, nil
			})
			return err
		}},
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			s.hang = func(o string) bool { return o == operation && s.count(o).Load() == 1 }
			client := s.client(short)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			err := c.write(ctx, client, shardmap.New(s.client(patient), "map", shardmap.Options{}))
			took, calls := time.Since(begin), s.count(operation).Load()
			if took > 30*time.Second {
				t.Errorf("the write took %v of its minute", took)
			}
			if c.again && (err != nil || calls < 2) { // on a busy machine the second attempt may time out, too
				t.Errorf("%d calls, %v", calls, err)
			}
			if !c.again && (!errors.Is(err, shard.ErrUnavailable) || calls != 1) {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
}

// TestRetryWithoutConnection checks that an increment is retried if its first attempt made no connection.
func TestRetryWithoutConnection(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	client := s.client(patient)
	var dials atomic.Int64
	transport := client.Options().HTTPClient.(*http.Client).Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials.Add(1) == 1 {
			return (&net.Dialer{Timeout: time.Nanosecond}).DialContext(ctx, network, address)
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	view := shardmap.New(s.client(patient), "map", shardmap.Options{})
	err := counters.NewWriter(client, "items", view, counters.Options{}).Add(t.Context(), "c", 1, now)
	if calls := s.count("UpdateItem").Load(); err != nil || calls != 1 || dials.Load() < 2 {
		t.Errorf("%d calls after %d dials, %v; want 1 after 2", calls, dials.Load(), err)
	}
}
