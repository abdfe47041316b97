package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/heatview"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/enginetest"
)

// TestTopOfAForeignTable: a table that is not hotshard's, made and written by another client,
// while top runs beside it.
func TestTopOfAForeignTable(t *testing.T) {
	t.Parallel()
	endpoint := enginetest.Endpoint(t)
	table := enginetest.Prefix("foreign")
	db := local.DynamoDB(endpoint, "")
	attribute := func(name string) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS}
	}
	if _, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{attribute("customer"), attribute("order")},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("customer"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("order"), KeyType: types.KeyTypeRange}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	writers.Go(func() {
		text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ctx.Err() == nil; n++ {
			var puts []types.WriteRequest
			for i := range 10 {
				item := map[string]types.AttributeValue{"customer": text("customer-7"), "order": text(fmt.Sprint(n, "-", i)), "data": text(strings.Repeat("x", 500))}
				if i > 7 {
					item["customer"] = text(fmt.Sprint("customer-", 100+n%50))
				}
				puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
			}
			if _, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: puts}}); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
			<-tick.C
		}
	})
	defer writers.Wait()
	defer stop()
	began := time.Now()
	var out lineWriter
	out.each = func(line string) {
		var w heatview.Line
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Errorf("%v in %s", err, line)
			return
		}
		if len(w.Keys) == 0 || w.Keys[0].Key != "customer-7" {
			return
		}
		out.named = cmp.Or(out.named, time.Since(began))
		if out.hot == 0 && w.Keys[0].Status != "warm" {
			out.hot = time.Since(began)
			stop()
		}
	}
	var errOut bytes.Buffer
	calls := &recorder{}
	// 40 units a second are written, on a busy machine fewer; a key is hot from 14 on.
	code := run(ctx, []string{"top", "--table", table, "--endpoint", calls.before(t, endpoint), "--json", "--partition-wcu", "20", "--duration", "60s"}, streams{out: &out, err: &errOut})
	if code != exitOK || out.hot == 0 || !strings.Contains(errOut.String(), "stream of "+table) {
		t.Fatalf("exit %d, hot after %v: %s", code, out.hot, errOut.String())
	}
	t.Logf("the hot key is the first one %.1f s after the start, and hot by a whole window after %.1f s", out.named.Seconds(), out.hot.Seconds())
	calls.check(t)
}

// recorder stands before an engine and notes the calls that are made.
type recorder struct {
	mu    sync.Mutex
	calls []string
	polls []time.Time // when GetRecords was called; the engine has one stream shard
}

func (c *recorder) before(t *testing.T, endpoint string) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		c.mu.Lock()
		c.calls = append(c.calls, operation)
		if operation == "GetRecords" {
			c.polls = append(c.polls, time.Now())
		}
		c.mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// check: nothing is called but what reads, and the stream shard is polled once a second at
// most. What is measured here comes with the machine's own delays.
func (c *recorder) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if !slices.Contains([]string{"DescribeTable", "ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"}, call) {
			t.Errorf("the call %s is made", call)
		}
	}
	if n := len(c.polls); n < 2 || float64(n-1) > c.polls[n-1].Sub(c.polls[0]).Seconds()+1 {
		t.Errorf("%d polls in %v", n, c.polls[n-1].Sub(c.polls[0]))
	}
}

// lineWriter hands on whole lines.
type lineWriter struct {
	rest       []byte
	each       func(line string)
	named, hot time.Duration
}

func (l *lineWriter) Write(b []byte) (int, error) {
	l.rest = append(l.rest, b...)
	for {
		line, rest, ok := bytes.Cut(l.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		l.rest = rest
		l.each(string(line))
	}
}
