package throttle_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// BenchmarkStandIn measures what the limiter and the proxy's handler allocate and compute for a call. The engine is a
// function.
//
//	go test -run '^$' -bench StandIn -benchmem ./pkg/throttle
func BenchmarkStandIn(b *testing.B) {
	filler := `"text":{"S":"` + strings.Repeat("x", 280) + `"}`
	for _, c := range []struct{ operation, body, answer string }{
		{"PutItem", `{"TableName":"t","Item":{"id":{"S":"key7"},` + filler + `}}`, `{"Attributes":{"id":{"S":"key7"},` + filler + `}}`},
		{"UpdateItem", `{"TableName":"t","Key":{"id":{"S":"key7"}},"UpdateExpression":"ADD hits :one","ExpressionAttributeValues":{":one":{"N":"1"}}}`,
			`{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1.0,"Table":{"CapacityUnits":1.0}}}`},
		{"GetItem", `{"TableName":"t","Key":{"id":{"S":"key7"}}}`, `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":0.5},"Item":{"id":{"S":"key7"},` + filler + `}}`},
	} {
		p := newStandIn(b, c.answer)
		b.Run(c.operation, func(b *testing.B) {
			for b.Loop() {
				req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/", strings.NewReader(c.body))
				req.Header = http.Header{"X-Amz-Target": {"DynamoDB_20120810." + c.operation}, "Content-Type": {"application/x-amz-json-1.0"},
					"Authorization": {"AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request, Signature=0"}}
				w := httptest.NewRecorder()
				if p.ServeHTTP(w, req); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "ConsumedCapacity") {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}

// newStandIn returns a proxy before a function that always has this answer.
func newStandIn(b *testing.B, answer string) http.Handler {
	l, err := throttle.New(throttle.Options{Partitions: 4, PartitionWCU: 100_000, TableQuota: 1_000_000, Base: roundTrip(func(r *http.Request) (*http.Response, error) {
		text := answer
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
			text = describedTable
		}
		_, err := io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: http.StatusOK, ContentLength: int64(len(text)), Header: http.Header{"X-Amz-Crc32": {"1"}}, Body: io.NopCloser(strings.NewReader(text))}, err
	})})
	require.NoError(b, err)
	return l.Proxy(&url.URL{Scheme: "http", Host: "engine"})
}
