package throttle_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

const describedTable = `{"Table":{"TableName":"t","TableArn":"arn","KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"}}}`

// FuzzRequest sends any body of any operation. The limiter never panics. It sends the engine only the caller's request
// and its own reads. The buckets pay what the statistics charge.
func FuzzRequest(f *testing.F) {
	bodies := []string{
		``, `{`, `[]`, `null`, `{"TableName":"t","Item":{"id":{"S":"a"}}}`, `{"TableName":"t","Key":{"id":{"N":"1e999"}}}`,
		`{"RequestItems":{"t":[{"PutRequest":{"Item":{"id":{"S":"a"}}}},{}]}}`, `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}},null]}}}`,
		`{"TransactItems":[{"Put":{"TableName":"t","Item":{"id":{"S":"a"},"g":{"B":"AA=="}}}},{"Get":null}]}`,
		`{"Statement":"DELETE FROM t WHERE id = 'a'"}`,
		`{"TableName":"t","Key":{"id":{"S":"a"}},"UpdateExpression":"SET g = if_not_exists(g, :g) ADD n :n","ExpressionAttributeValues":{":g":{"S":"x"},":n":{"N":"1"}}}`,
		`{"TableName":"t","GlobalSecondaryIndexUpdates":[{"Create":null}]}`,
	}
	operations := []string{"PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan", "BatchWriteItem", "BatchGetItem", "TransactWriteItems", "TransactGetItems",
		"CreateTable", "UpdateTable", "ExecuteStatement", "None"}
	for _, operation := range operations {
		for _, body := range bodies {
			f.Add(operation, []byte(body), "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/dynamodb/aws4_request, Signature=0")
		}
	}
	described := strings.TrimSuffix(describedTable, "}}") +
		`,"GlobalSecondaryIndexes":[{"IndexName":"x","IndexArn":"arn/x","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}}`
	printable := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, text)
	}
	f.Fuzz(func(t *testing.T, operation string, body []byte, authorization string) {
		target := "DynamoDB_20120810." + printable(operation)
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			switch got := r.Header.Get("X-Amz-Target"); got {
			case "DynamoDB_20120810.DescribeTable":
				_, _ = io.WriteString(w, described)
			default:
				if got != target && got != "DynamoDB_20120810.BatchGetItem" {
					t.Errorf("%s became %s", target, got)
				}
				_, _ = io.WriteString(w, `{"Responses":{"t":[{"id":{"S":"a"}}]},"ConsumedCapacity":{"TableName":"t","CapacityUnits":1,"Table":{"CapacityUnits":1}}}`)
			}
			return w.Result(), nil
		})
		l, err := throttle.New(throttle.Options{
			Partitions: 1, PartitionWCU: 1, Base: base, Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
		})
		require.NoError(t, err)
		for range 3 {
			req := httptest.NewRequestWithContext(t.Context(), "POST", "http://engine/", bytes.NewReader(body))
			req.Header.Set("X-Amz-Target", target)
			req.Header.Set("Authorization", printable(authorization))
			resp, err := l.RoundTrip(req)
			if err != nil {
				continue
			}
			_, err = io.Copy(io.Discard, resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
		}
		if strings.HasSuffix(target, "Table") {
			return // the table's partitions are new
		}
		paid, report := 0.0, l.Report()
		for _, table := range report.Tables {
			for _, p := range table.Partitions {
				paid -= p.WriteTokens + p.ReadTokens
			}
			paid += 1 + 3 // the first partition's tokens at the start
		}
		if s := l.Stats(); math.Abs(paid-s.WriteUnits-s.ReadUnits) > 1e-6*(1+paid) || s.WriteUnits < 0 || s.ReadUnits < 0 {
			t.Errorf("the buckets paid %v units, the statistics charge %v and %v", paid, s.WriteUnits, s.ReadUnits)
		}
	})
}

// TestChangesWithoutAResponse checks that a change of a table whose response is lost is an error, and that the table is
// then described again.
func TestChangesWithoutAResponse(t *testing.T) {
	lost, described := errors.New("lost"), 0
	l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 10, PartitionRCU: 10, Base: roundTrip(func(req *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		switch target := req.Header.Get("X-Amz-Target"); target {
		case "DynamoDB_20120810.UpdateTable":
			return nil, lost
		case "DynamoDB_20120810.DescribeTable":
			described++
			_, _ = io.WriteString(w, describedTable)
		default:
			_, _ = io.WriteString(w, "{}")
		}
		return w.Result(), nil
	})})
	require.NoError(t, err)
	call := func(operation, body string) error {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://engine/", strings.NewReader(body))
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		resp, err := l.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	const put = `{"TableName":"t","Item":{"id":{"S":"a"}}}`
	require.NoError(t, call("PutItem", put))
	if err := call("UpdateTable", `{"TableName":"t"}`); !errors.Is(err, lost) {
		t.Errorf("the change: %v", err)
	}
	require.NoError(t, call("PutItem", put))
	if described != 2 {
		t.Errorf("the table was described %d times, want 2", described)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestBodies checks that a chunked body costs what any other does. Compressed, unreadable and large bodies and unknown
// operations get the engine's own responses.
func TestBodies(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 100})
	target, err := url.Parse(enginetest.Endpoint(t))
	require.NoError(t, err)
	proxy := httptest.NewServer(b.Proxy(target))
	t.Cleanup(proxy.Close)
	const put = `{"TableName":"limited","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}`
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, put)
	_ = z.Close()
	send := func(endpoint, operation string, body io.Reader, encoding string) int {
		t.Helper()
		req := b.request(t, endpoint, operation, body)
		req.Header.Set("X-Amz-Date", "20260101T000000Z")
		if encoding != "" {
			req.Header.Set("Content-Encoding", encoding)
		}
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		require.NoError(t, err)
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
	halves := io.MultiReader(strings.NewReader(put[:20]), strings.NewReader(put[20:])) // a body without a length is chunked
	if got := send(proxy.URL, "PutItem", halves, ""); got != http.StatusOK {
		t.Errorf("a chunked body: status %d", got)
	}
	if got := b.Stats().WriteUnits; got != 1 {
		t.Errorf("a chunked PutItem cost %v units, want 1", got)
	}
}
