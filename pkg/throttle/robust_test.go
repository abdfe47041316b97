package throttle_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// FuzzRequest sends any body of any operation. The limiter answers each, never panics, and sends no request to the
// engine that the caller did not send, except its own reads.
func FuzzRequest(f *testing.F) {
	bodies := []string{
		``, `{`, `[]`, `null`, `{"TableName":"t","Item":{"id":{"S":"a"}}}`, `{"TableName":"t","Key":{"id":{"N":"1e999"}}}`,
		`{"RequestItems":{"t":[{"PutRequest":{"Item":{"id":{"S":"a"}}}},{}]}}`, `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}},null]}}}`,
		`{"TransactItems":[{"Put":{"TableName":"t","Item":{"id":{"S":"a"}}}},{"Get":null}]}`,
		`{"Statement":"SELECT * FROM t WHERE id = ?","Parameters":[{"S":"a"}]}`, `{"Statements":[{"Statement":"DELETE FROM t WHERE id = 'a'"},{}]}`,
		`{"TransactStatements":[{"Statement":"INSERT INTO t VALUE {'id':'a'}"}],"ClientRequestToken":"x"}`,
		`{"TableName":"t","WarmThroughput":{"ReadUnitsPerSecond":-1},"GlobalSecondaryIndexUpdates":[{"Create":null}]}`,
	}
	operations := []string{"PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan", "BatchWriteItem", "BatchGetItem", "TransactWriteItems", "TransactGetItems",
		"CreateTable", "UpdateTable", "ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction", "None"}
	for _, operation := range operations {
		for _, body := range bodies {
			f.Add(operation, []byte(body))
		}
	}
	const described = `{"Table":{"TableName":"t","TableArn":"arn","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},` +
		`"GlobalSecondaryIndexes":[{"IndexName":"x","IndexArn":"arn/x","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}}`
	f.Fuzz(func(t *testing.T, operation string, body []byte) {
		engine := httptest.NewRecorder
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			w := engine()
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
				_, _ = io.WriteString(w, described)
			} else {
				_, _ = io.WriteString(w, `{"Responses":{"t":[{"id":{"S":"a"}}]},"ConsumedCapacity":{"TableName":"t","CapacityUnits":1,"Table":{"CapacityUnits":1}}}`)
			}
			return w.Result(), nil
		})
		l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionBytes: 100, Base: base})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			req := httptest.NewRequestWithContext(t.Context(), "POST", "http://engine/", bytes.NewReader(body))
			req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+strings.Map(func(r rune) rune {
				if r < ' ' || r > '~' {
					return -1
				}
				return r
			}, operation))
			resp, err := l.RoundTrip(req)
			if err != nil {
				continue
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBodies checks that chunked bodies are charged like others, and that compressed and unreadable ones, and unknown
// operations, get the engine's own answers.
func TestBodies(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 100})
	target, err := url.Parse(enginetest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(b.Proxy(target))
	t.Cleanup(proxy.Close)
	const put = `{"TableName":"limited","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, put)
	_ = z.Close()
	send := func(endpoint, operation string, body io.Reader, encoding string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", endpoint, body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		req.Header.Set("Content-Type", "application/x-amz-json-1.0")
		req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+b.key+"/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
		req.Header.Set("X-Amz-Date", "20260101T000000Z")
		if encoding != "" {
			req.Header.Set("Content-Encoding", encoding)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	huge := `{"RequestItems":{"limited":[` + strings.Repeat(" ", 16<<20) + `]}}`
	for _, test := range []struct{ name, operation, body, encoding string }{
		{"compressed", "PutItem", packed.String(), "gzip"},
		{"unreadable", "PutItem", "{", ""},
		{"unknown", "Unknown", "{}", ""},
		{"16 MB", "BatchWriteItem", huge, ""},
	} {
		got, want := send(proxy.URL, test.operation, strings.NewReader(test.body), test.encoding), send(target.String(), test.operation, strings.NewReader(test.body), test.encoding)
		if got != want {
			t.Errorf("%s: status %d, the engine's is %d", test.name, got, want)
		}
	}
	b.Reset()
	if got := send(proxy.URL, "PutItem", io.MultiReader(strings.NewReader(put)), ""); got != http.StatusOK { // without a length
		t.Errorf("chunked: status %d", got)
	}
	if got := b.Stats().WriteUnits; got != 1 {
		t.Errorf("a chunked PutItem cost %v units", got)
	}
}
