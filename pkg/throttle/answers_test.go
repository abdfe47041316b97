package throttle_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// FuzzAnswers lets the engine describe its table, and answer, with any text. The limiter does not panic, and what it
// withheld of a batch is in the response.
func FuzzAnswers(f *testing.F) {
	described := []string{describedTable, `{"Table":{"TableName":"arn:aws:dynamodb:x:1:table/t","KeySchema":[{"AttributeName":"id","KeyType":"HASH"},null]}}`,
		`{"Table":{"KeySchema":[{"KeyType":"RANGE"}]}}`, `{"Table":{"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"GlobalSecondaryIndexes":[null,{"IndexName":"x","Projection":null}],"ProvisionedThroughput":{"WriteCapacityUnits":-1,"ReadCapacityUnits":-9223372036854775808}}}`}
	answers := []string{``, `{}`, `[]`, `null`, `{`, `{"UnprocessedItems":[],"UnprocessedKeys":[]}`, `{"UnprocessedItems":{"absent":[{}],"t":null},"UnprocessedKeys":{"t":null,"absent":{"Keys":[]}}}`,
		`{"UnprocessedItems":{"t":[null,{"PutRequest":null},{"PutRequest":{"Item":{"id":{"S":"a"}}}}]},"UnprocessedKeys":{"t":{"Keys":[null,{"id":{"S":"a"}}]}}}`,
		`{"Responses":{"t":[null,{"id":null}],"absent":[{}],"arn:aws:dynamodb:x:1:table/t":[{"id":{"S":"a"}}]},"ConsumedCapacity":[null,{"TableName":"t","CapacityUnits":1e300}]}`,
		`{"Responses":[{"Item":null},{}],"ConsumedCapacity":{"CapacityUnits":-1e300,"Table":null,"GlobalSecondaryIndexes":{"x":null}}}`,
		`{"Attributes":null,"ConsumedCapacity":{"Table":{"CapacityUnits":-5},"GlobalSecondaryIndexes":{"x":{"CapacityUnits":7}}}}`,
		`{"__type":"a#TransactionCanceledException","CancellationReasons":[null]}`,
		`{"TableDescription":null}`}
	bodies := map[string]string{
		"PutItem": `{"TableName":"t","Item":{"id":{"S":"a"}}}`, "UpdateItem": `{"TableName":"t","Key":{"id":{"S":"a"}},"UpdateExpression":"SET g = :g","ReturnValues":"UPDATED_NEW"}`,
		"GetItem": `{"TableName":"t","Key":{"id":{"S":"a"}}}`, "Query": `{"TableName":"t","IndexName":"x"}`, "Scan": `{"TableName":"t"}`, "UpdateTable": `{"TableName":"t"}`,
		"BatchWriteItem":     `{"RequestItems":{"t":[{"PutRequest":{"Item":{"id":{"S":"a"}}}},{"PutRequest":{"Item":{"id":{"S":"b"}}}}],"arn:aws:dynamodb:x:1:table/t":[{"DeleteRequest":{"Key":{"id":{"S":"c"}}}}]}}`,
		"BatchGetItem":       `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}},{"id":{"S":"b"}},{"id":{"S":"d"}}]},"arn:aws:dynamodb:x:1:table/t":{"ProjectionExpression":"id","Keys":[{"id":{"S":"c"}}]}}}`,
		"TransactWriteItems": `{"TransactItems":[{"Delete":{"TableName":"t","Key":{"id":{"S":"a"}}}}]}`,
		"TransactGetItems":   `{"TransactItems":[{"Get":{"TableName":"t","Key":{"id":{"S":"a"}}}},{"Get":{"TableName":"t","Key":{"id":{"S":"b"}},"ProjectionExpression":"id"}}]}`,
	}
	operations := slices.Sorted(maps.Keys(bodies))
	for i := range operations {
		for _, answer := range answers {
			for _, status := range []int{200, 400} {
				f.Add(i, status, []byte(described[0]), []byte(answer))
			}
		}
		for _, text := range described {
			f.Add(i, 200, []byte(text), []byte(`{}`))
		}
	}
	f.Fuzz(func(t *testing.T, which, status int, described, answer []byte) {
		operation := operations[max(0, which)%len(operations)]
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			text, code := answer, 200+max(0, status)%400
			if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
				text, code = described, http.StatusOK
			}
			return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(text))}, nil
		})
		l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionRCU: 1, Base: base, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
		require.NoError(t, err)
		for range 2 {
			req := httptest.NewRequestWithContext(t.Context(), "POST", "http://engine/", strings.NewReader(bodies[operation]))
			req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
			resp, err := l.RoundTrip(req)
			if err != nil {
				continue
			}
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			resp.Body.Close()
			stats := l.Stats().Operations
			at := slices.IndexFunc(stats, func(o throttle.OperationStats) bool { return o.ThrottledItems > 0 })
			if at >= 0 && resp.StatusCode == http.StatusOK && unprocessed(t, operation, text) < stats[at].ThrottledItems {
				t.Errorf("%s: %d items were withheld, but %s", operation, stats[at].ThrottledItems, text)
			}
			l.Reset()
		}
	})
}

// unprocessed returns the number of a batch's unprocessed items in a response.
func unprocessed(t *testing.T, operation string, text []byte) (count int64) {
	t.Helper()
	if operation == "BatchWriteItem" {
		var left struct{ UnprocessedItems map[string][]json.RawMessage }
		require.NoError(t, json.Unmarshal(text, &left))
		for _, items := range left.UnprocessedItems {
			count += int64(len(items))
		}
		return count
	}
	var left struct {
		UnprocessedKeys map[string]struct{ Keys []json.RawMessage }
	}
	require.NoError(t, json.Unmarshal(text, &left))
	for _, table := range left.UnprocessedKeys {
		count += int64(len(table.Keys))
	}
	return count
}
