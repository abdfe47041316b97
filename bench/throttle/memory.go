package throttle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// serve is the proxy before an engine, with the command's defaults and limits that no call reaches.
func serve(ctx context.Context, w io.Writer, before string) error {
	engine, err := url.Parse(before)
	if err != nil {
		return err
	}
	l, err := throttle.New(throttle.Options{
		Partitions: 4, PartitionWCU: 100_000, TableQuota: 1_000_000, Burst: 5 * time.Minute, SplitAfter: 10 * time.Minute,
		GrowAfter: 30 * time.Minute, PartitionBytes: 10_000_000_000, TransactionHold: 5 * time.Millisecond, Base: dynamolocal.Direct(),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/4)) // as the command does, and
	debug.SetGCPercent(300)
	fmt.Fprintf(w, "%shttp://%s\n", ready, listener.Addr())
	server := &http.Server{Handler: l.Proxy(engine), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	return server.Serve(listener)
}

// standIn is an engine that finds nothing: memory for the items of a real one would not be the proxy's.
func standIn(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the proxy's own requests are whole
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
		_, _ = io.WriteString(w, `{"Table":{"TableName":"`+table+`","TableArn":"arn:aws:dynamodb:local:0:table/`+table+`",`+
			`"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"}}}`)
		return
	}
	_, _ = io.WriteString(w, `{"Responses":{}}`)
}

// batch is how many keys a call reads.
const batch = 100

// fill reads keys through the proxy and measures its memory.
func (o options) fill(ctx context.Context, w io.Writer) error {
	engine := httptest.NewServer(http.HandlerFunc(standIn))
	defer engine.Close()
	proxy, err := start(ctx, "-serve", engine.URL)
	if err != nil {
		return err
	}
	defer proxy.stop()
	s := newSide(proxy.url)
	if err := s.read(ctx, 0); err != nil {
		return err
	}
	at, err := rig.Memory(proxy.pid, "VmRSS")
	if err != nil {
		return err
	}
	var next atomic.Int64
	group, reading := errgroup.WithContext(ctx)
	for range workers / 2 {
		group.Go(func() error {
			for {
				first := int(next.Add(batch))
				if first >= o.keys {
					return nil
				}
				if err := s.read(reading, first); err != nil {
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	now, err := rig.Memory(proxy.pid, "VmRSS")
	most, failed := rig.Memory(proxy.pid, "VmHWM")
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	fmt.Fprintf(w, "memory of the proxy: %.1f MB after the first call, %.1f MB after %d keys, at most %.1f MB\n", float64(at)/1000, float64(now)/1000, o.keys, float64(most)/1000)
	return nil
}

// read reads a batch of keys that begins with this one.
func (s *side) read(ctx context.Context, first int) error {
	var keys []string
	for i := range batch {
		keys = append(keys, fmt.Sprintf(`{"id":{"S":"customer-%09d"}}`, first+i))
	}
	return s.send(ctx, "BatchGetItem", `{"RequestItems":{"`+table+`":{"Keys":[`+strings.Join(keys, ",")+`]}}}`)
}
