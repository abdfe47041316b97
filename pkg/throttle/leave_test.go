package throttle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestMain fails if a test of this package leaks a goroutine.
func TestMain(m *testing.M) { libtest.Main(m) }

// Points at which a caller leaves, which cancels its context.
const (
	afterSending = iota // the engine receives the request, and its response is lost
	inResponse          // the response breaks off
	inHold              // while a transaction holds its items
	never
	points
)

// leaveEngine is an engine that accepts all requests. The caller of one of them leaves.
type leaveEngine struct {
	point, request int // the caller leaves at this point of this request, counted from 0
	leave          context.CancelFunc
	requests       int
	received       float64 // cost of the received requests, without the limiter's own
}

func (e *leaveEngine) RoundTrip(req *http.Request) (*http.Response, error) {
	leaves := e.requests == e.request
	e.requests++
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	answer := describedTable
	if operation != "DescribeTable" {
		units, parts := leaveCost(operation, text)
		e.received += units
		answer = `{"Responses":[` + strings.TrimSuffix(strings.Repeat("{},", parts), ",") + `]}`
		if strings.HasPrefix(operation, "Batch") {
			answer = `{}`
		}
	}
	if leaves && e.point == afterSending {
		e.leave()
		return nil, req.Context().Err()
	}
	body := io.Reader(strings.NewReader(answer))
	if leaves && e.point == inResponse {
		e.leave()
		body = io.MultiReader(strings.NewReader(answer[:1]), failing{req.Context().Err()})
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body), Request: req}, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// leaveCost returns the minimum cost of a received request, and the number of its actions. The limiter's
// own reads, which are consistent, cost nothing.
func leaveCost(operation string, text []byte) (units float64, parts int) {
	var in struct {
		RequestItems  map[string]json.RawMessage
		TransactItems []json.RawMessage
	}
	if err := json.Unmarshal(text, &in); err != nil {
		panic(err)
	}
	parts = len(in.TransactItems)
	switch operation {
	case "BatchWriteItem":
		var requests []json.RawMessage
		_ = json.Unmarshal(in.RequestItems["t"], &requests)
		return float64(len(requests)), 0
	case "BatchGetItem":
		var request struct {
			ConsistentRead bool
			Keys           []json.RawMessage
		}
		_ = json.Unmarshal(in.RequestItems["t"], &request)
		if request.ConsistentRead {
			return 0, 0
		}
		return float64(len(request.Keys)) / 2, 0
	case "GetItem", "Query":
		return 0.5, 0
	case "TransactWriteItems", "TransactGetItems":
		return 2 * float64(parts), parts
	}
	return 1, 0
}

// leaveRequest returns a request for up to three keys.
func leaveRequest(r *rand.Rand) (operation, body string) {
	keys := r.Perm(8)[:1+r.IntN(3)]
	each := func(format string) string {
		var parts []string
		for _, key := range keys {
			parts = append(parts, fmt.Sprintf(format, key))
		}
		return strings.Join(parts, ",")
	}
	one := func(format string) string { return fmt.Sprintf(format, keys[0]) }
	type request struct{ operation, body string }
	all := []request{
		{"PutItem", one(`{"TableName":"t","Item":{"id":{"S":"%d"}}}`)},
		{"UpdateItem", one(`{"TableName":"t","Key":{"id":{"S":"%d"}}}`)},
		{"GetItem", one(`{"TableName":"t","Key":{"id":{"S":"%d"}}}`)},
		{"Query", one(`{"TableName":"t","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"%d"}}}`)},
		{"BatchWriteItem", `{"RequestItems":{"t":[` + each(`{"PutRequest":{"Item":{"id":{"S":"%d"}}}}`) + `]}}`},
		{"BatchGetItem", `{"RequestItems":{"t":{"Keys":[` + each(`{"id":{"S":"%d"}}`) + `]}}}`},
		{"TransactWriteItems", `{"TransactItems":[` + each(`{"Put":{"TableName":"t","Item":{"id":{"S":"%d"}}}}`) + `]}`},
		{"TransactGetItems", `{"TransactItems":[` + each(`{"Get":{"TableName":"t","Key":{"id":{"S":"%d"}}}}`) + `]}`},
	}
	chosen := all[r.IntN(len(all))]
	return chosen.operation, chosen.body
}

func leaveCall(ctx context.Context, l *throttle.Limiter, operation, body string) error {
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://engine/", strings.NewReader(body))
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	resp, err := l.RoundTrip(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return err
}

// TestCallerLeaves checks that a request costs its units exactly if the engine received it, at whatever point its caller
// leaves. The buckets agree with the statistics, and no item stays held.
func TestCallerLeaves(t *testing.T) {
	r := rand.New(rand.NewPCG(require.Seed(t), 0))
	engine, clock := &leaveEngine{}, &clock{now: time.Unix(1_800_000_000, 0)}
	l, err := throttle.New(throttle.Options{
		Partitions: 2, PartitionWCU: 12, TransactionHold: time.Millisecond, Now: clock.Now, Base: engine,
		Sleep: func(_ context.Context, d time.Duration) {
			if engine.point == inHold {
				engine.leave()
			}
			clock.advance(d)
		},
	})
	require.NoError(t, err)
	left, throttled := make([]int, points), int64(0)
	for i := range require.Runs(5000, 100_000) {
		ctx, leave := context.WithCancel(t.Context())
		*engine = leaveEngine{point: r.IntN(points), request: r.IntN(3), leave: leave}
		operation, body := leaveRequest(r)
		l.Reset()
		err := leaveCall(ctx, l, operation, body)
		if ctx.Err() != nil {
			left[engine.point]++
		}
		leave()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("call %d, %s: %v", i, operation, err)
		}
		s := l.Stats()
		if got := s.WriteUnits + s.ReadUnits; got != engine.received {
			t.Fatalf("call %d, %s, left at point %d of request %d: charged %v units, the engine received %v", i, operation, engine.point, engine.request, got, engine.received)
		}
		throttled += s.Throttled
		clock.advance(time.Duration(r.IntN(100)) * time.Millisecond)
		if i%100 == 0 {
			checkUntouched(t, l, engine, clock)
		}
	}
	if slices.Contains(left[:never], 0) || left[never] != 0 || throttled == 0 {
		t.Errorf("callers left %v times by point, with %v throttles: want some at each point but the last, and some throttles", left, throttled)
	}
}

// checkUntouched checks that all buckets get full again and pay exactly for eight transactional reads, whose items no
// transaction holds.
func checkUntouched(t *testing.T, l *throttle.Limiter, engine *leaveEngine, clock *clock) {
	t.Helper()
	*engine = leaveEngine{point: never}
	clock.advance(time.Hour)
	l.Reset()
	var gets []string
	for key := range 8 {
		gets = append(gets, fmt.Sprintf(`{"Get":{"TableName":"t","Key":{"id":{"S":"%d"}}}}`, key))
	}
	require.NoError(t, leaveCall(t.Context(), l, "TransactGetItems", `{"TransactItems":[`+strings.Join(gets, ",")+`]}`))
	tokens, full := 0.0, 0.0
	for _, p := range l.Report().Tables[0].Partitions {
		tokens, full = tokens+p.ReadTokens, full+float64(p.RCU)
		if p.WriteTokens != float64(p.WCU) {
			t.Errorf("after an idle hour a bucket has %v of %d write units", p.WriteTokens, p.WCU)
		}
	}
	if s := l.Stats(); s.ReadUnits != 16 || tokens != full-16 {
		t.Errorf("eight reads in a transaction cost %v units and left %v of %v: %+v", s.ReadUnits, tokens, full, s)
	}
}
