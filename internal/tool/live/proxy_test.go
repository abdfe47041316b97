package live

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// proxy forwards calls to an engine over a bad network.
type proxy struct {
	mode atomic.Value // string

	mu    sync.Mutex
	calls []time.Time // that were spoiled
}

// spoiled reports whether calls were spoiled between two times, or up to 5 s before or after.
func (p *proxy) spoiled(from, to time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.calls, func(at time.Time) bool {
		return at.After(from.Add(-5*time.Second)) && at.Before(to.Add(5*time.Second))
	})
}

// modes are the proxy's faults.
var modes = []string{"reset", "delay", "cut off", "500", "garbage", "garbage in JSON", "down"}

func (p *proxy) before(t *testing.T, endpoint string) string {
	t.Helper()
	p.mode.Store("")
	return enginetest.Proxy(t, endpoint, func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		mode := p.mode.Load().(string)
		if mode != "" {
			p.mu.Lock()
			p.calls = append(p.calls, time.Now())
			p.mu.Unlock()
		}
		switch mode {
		case "reset", "down":
			hangUp(w)
		case "delay":
			time.Sleep(3 * time.Second)
			forward.ServeHTTP(w, r)
		case "cut off":
			recorded := httptest.NewRecorder()
			forward.ServeHTTP(recorded, r)
			w.Header().Set("Content-Length", fmt.Sprint(recorded.Body.Len()))
			_, _ = w.Write(recorded.Body.Bytes()[:recorded.Body.Len()/2])
			hangUp(w)
		case "500":
			http.Error(w, "out of order", http.StatusInternalServerError)
		case "garbage":
			io.WriteString(w, "<html>sign in to this network</html>")
		case "garbage in JSON":
			io.WriteString(w, "{}")
		default:
			forward.ServeHTTP(w, r)
		}
	})
}

// hangUp resets the connection.
func hangUp(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// streamed creates a table with a stream.
func streamed(t *testing.T, db *dynamodb.Client, table string) {
	t.Helper()
	if _, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "N"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}, {AttributeName: aws.String("sk"), KeyType: "RANGE"}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}); err != nil {
		t.Fatal(err)
	}
}

// writer puts items of one unit at a rate, in batches of 20. It returns when each batch was written.
func writer(ctx context.Context, t *testing.T, db *dynamodb.Client, table string, rate int) (written []time.Time) {
	began := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		if wait := time.Until(began.Add(time.Duration(n*20) * time.Second / time.Duration(rate))); wait > 0 {
			time.Sleep(wait)
		}
		var puts []types.WriteRequest
		for i := range 20 {
			puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: map[string]types.AttributeValue{
				"pk": &types.AttributeValueMemberS{Value: fmt.Sprint("key-", i%4)}, "sk": &types.AttributeValueMemberN{Value: fmt.Sprint(n*20 + i)},
			}}})
		}
		out, err := db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: puts}})
		if err != nil || len(out.UnprocessedItems) > 0 {
			t.Errorf("writing: %v", err)
			return written
		}
		written = append(written, time.Now())
	}
	return written
}

// startEngineReader starts a reader and waits until its first poll has ended. It returns the time of the first window.
func startEngineReader(t *testing.T, o Options) (*Reader, time.Time) {
	t.Helper()
	o.AtOnce = true
	r := startReader(t, o)
	for r.Settled().IsZero() {
		time.Sleep(50 * time.Millisecond)
	}
	begin := r.Settled()
	time.Sleep(time.Until(begin.Add(1500 * time.Millisecond))) // the engine's times are those of polls
	return r, begin
}

// settle waits until the windows up to now have ended.
func settle(r *Reader) {
	for ended := time.Now(); r.Settled().Before(ended); {
		time.Sleep(100 * time.Millisecond)
	}
}

// TestBadNetwork checks, over the real engine and a proxy with faults, that each record is counted once. Windows without
// spoiled calls have the units that were written in them.
func TestBadNetwork(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	streamed(t, db, "orders")
	p := &proxy{}
	url := p.before(t, aws.ToString(db.Options().BaseEndpoint))
	client := dynamodbstreams.New(dynamodbstreams.Options{
		Region: db.Options().Region, BaseEndpoint: &url, Credentials: db.Options().Credentials,
		HTTPClient: &http.Client{Timeout: 2 * time.Second},
	})
	found, err := FindStream(t.Context(), db, nil, "orders")
	require.NoError(t, err)
	r, begin := startEngineReader(t, Options{Streams: client, Found: found, Notify: func(sentence string) { t.Log(sentence) }})
	writing, stop := context.WithCancel(t.Context())
	written := make(chan []time.Time, 1)
	go func() { written <- writer(writing, t, db, "orders", 200) }()
	time.Sleep(20 * time.Second)
	for _, mode := range modes {
		p.mode.Store(mode)
		time.Sleep(2500 * time.Millisecond)
		p.mode.Store("")
		time.Sleep(1200 * time.Millisecond)
	}
	time.Sleep(20 * time.Second)
	stop()
	batches := <-written
	settle(r)
	var total uint64
	for w := range r.Windows(t.Context(), begin, r.Settled(), Window) {
		units, wrote := unitsOf(w), uint64(0)
		for _, at := range batches {
			if !at.Before(w.Start) && at.Before(w.Start.Add(Window)) {
				wrote += 20
			}
		}
		total += units
		spoiled := p.spoiled(w.Start, w.Start.Add(Window))
		t.Logf("%s  %4d units counted, %4d written, coverage %v, calls spoiled: %v", w.Start.Format(time.TimeOnly), units, wrote, w.Items[0].Coverage, spoiled)
		if w.Items[0].Coverage != 0 {
			t.Errorf("%v: coverage %v, although all records were read in the end", w.Start, w.Items[0].Coverage)
		}
		if off := math.Abs(float64(units) - float64(wrote)); !spoiled && off > 0.1*float64(wrote)+100 {
			t.Errorf("%v: %d units are counted, want about %d", w.Start, units, wrote)
		}
	}
	if want := uint64(20 * len(batches)); total != want {
		t.Errorf("%d units are counted, want %d; %d calls were spoiled", total, want, len(p.calls))
	}
}

// TestEngineTableIsRecreated deletes a table of DynamoDB Local and creates it again. Its history stays, the time
// between has no coverage, and the new table's writes are counted.
func TestEngineTableIsRecreated(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	streamed(t, db, "orders")
	look := func(ctx context.Context) (Found, error) { return FindStream(ctx, db, nil, "orders") }
	found, err := look(t.Context())
	require.NoError(t, err)
	notices := make(chan string, 10)
	r, begin := startEngineReader(t, Options{Streams: enginetest.Streams(t, db), Found: found, Find: look, Notify: func(sentence string) { notices <- sentence }})
	write := func(d time.Duration) []time.Time {
		writing, stop := context.WithTimeout(t.Context(), d)
		defer stop()
		return writer(writing, t, db, "orders", 100)
	}
	before := write(3 * time.Second)
	time.Sleep(1500 * time.Millisecond)
	if _, err := db.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: aws.String("orders")}); err != nil {
		t.Fatal(err)
	}
	if first := <-notices; !strings.Contains(first, `stream of table "orders" is gone`) {
		t.Error(first)
	}
	time.Sleep(7 * time.Second)
	streamed(t, db, "orders")
	if second := <-notices; !strings.Contains(second, "has a new stream") {
		t.Error(second)
	}
	time.Sleep(5 * time.Second)
	after := write(3 * time.Second)
	settle(r)
	var units uint64
	least := 1.0
	for w := range r.Windows(t.Context(), begin, r.Settled(), Window) {
		units += unitsOf(w)
		least = min(least, coverageOf(w))
	}
	if want := 20 * (len(before) + len(after)); units != uint64(want) || least > 0.5 {
		t.Errorf("%d units are counted, the least coverage is %v; want %d, and at most 0.5", units, least, want)
	}
}
