package throttle_test

import (
	"context"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// unreadable is the key of an item whose read the engine rejects.
const unreadable = "unreadable"

// arnOfT is the table t's ARN in the scripted engine.
const arnOfT = "arn:aws:dynamodb:x:1:table/t"

// scripted returns an engine that describes the table t, reads its item as before, and answers any other request with
// this text. It breaks off with status 0, and has no table none.
func scripted(t *testing.T, status int, before, answer string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		sent, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		text, code := answer, status
		switch {
		case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable"):
			if text, code = strings.Replace(describedTable, "arn", arnOfT, 1), http.StatusOK; strings.Contains(string(sent), ":2:") {
				text = strings.Replace(describedTable, "arn", "another account's", 1)
			} else if strings.Contains(string(sent), "none") {
				text, code = `{"__type":"x#ResourceNotFoundException"}`, http.StatusBadRequest
			}
		case strings.Contains(string(sent), `"ConsistentRead":true`) && strings.Contains(string(sent), unreadable):
			text, code = "no", http.StatusBadRequest
		case strings.Contains(string(sent), `"ConsistentRead":true`):
			text, code = `{"Responses":{"t":[`+before+`]}}`, http.StatusOK
		}
		if code == 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
}

// limited returns a limiter before an engine, and a function that sends a call through it. The status of an error is 0.
func limited(t *testing.T, engine roundTrip) (l *throttle.Limiter, call func(operation, body string) (int, string)) {
	l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 1, Base: engine, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }})
	require.NoError(t, err)
	return l, func(operation, body string) (int, string) {
		req := httptest.NewRequestWithContext(t.Context(), "POST", "http://engine/", strings.NewReader(body))
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
		resp, err := l.RoundTrip(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, err.Error()
		}
		return resp.StatusCode, string(text)
	}
}

// TestEachRequestIsNeeded checks that a call is an error if any request to the engine for it fails, or its response
// breaks off, but for a read of the items after an update.
func TestEachRequestIsNeeded(t *testing.T) {
	const key, again, none = `"Key":{"id":{"S":"a"}}`, "arn:aws:dynamodb:y:1:table/t", "arn:aws:dynamodb:x:1:table/none"
	for operation, body := range map[string]string{
		"PutItem":            `{"TableName":"` + arnOfT + `","Item":{"id":{"S":"a"}}}`,
		"UpdateItem":         `{"TableName":"t",` + key + `,"UpdateExpression":"ADD n :n"}`,
		"GetItem":            `{"TableName":"` + arnOfT + `",` + key + `}`,
		"Query":              `{"TableName":"` + again + `","KeyConditionExpression":"id = :i","ExpressionAttributeValues":{":i":{"S":"a"}}}`,
		"BatchWriteItem":     `{"RequestItems":{"t":[{"DeleteRequest":{` + key + `}}]}}`,
		"BatchGetItem":       `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`,
		"TransactGetItems":   `{"TransactItems":[{"Get":{"TableName":"t",` + key + `}}]}`,
		"TransactWriteItems": `{"TransactItems":[{"Update":{"TableName":"` + again + `",` + key + `}},{"Delete":{"TableName":"` + arnOfT + `","Key":{"id":{"S":"b"}}}}]}`,
		"DeleteItem":         `{"TableName":"` + none + `",` + key + `}`,
		"UpdateTable":        `{"TableName":"t"}`, "ListTables": `{}`,
	} {
		for n, total := 0, 0; n <= 2*total; n++ { // the first total fail, the others break off
			sent, engine := 0, scripted(t, http.StatusOK, "", `{}`)
			_, call := limited(t, func(r *http.Request) (*http.Response, error) {
				if sent++; sent == n {
					return nil, io.ErrUnexpectedEOF
				} else if sent == n-total {
					return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(iotest.ErrReader(io.ErrUnexpectedEOF))}, nil
				}
				return engine(r)
			})
			status, text := call(operation, body)
			if n == 0 {
				total = sent
			}
			if unknown := n > 0 && n%total == 0 && operation == "TransactWriteItems"; (status == 0) != (n > 0 && !unknown) || total == 0 {
				t.Errorf("%s with request %d of %d failed: %d %s", operation, n, total, status, text)
			}
		}
	}
}

// TestChargesByAnswer checks what a call costs by the engine's answer. The item before the call has 2,500 bytes.
func TestChargesByAnswer(t *testing.T) {
	large := `{"id":{"S":"a"},"d":{"S":"` + strings.Repeat("x", 2500-4) + `"}}`
	failed := func(exception string) string {
		return `{"__type":"com.amazonaws.dynamodb.v20120810#` + exception + `","Item":` + large + `}`
	}
	cancelled := func(code string) string {
		return `{"__type":"x#TransactionCanceledException","CancellationReasons":[{"Code":"` + code + `"}]}`
	}
	const key, get, put = `"Key":{"id":{"S":"a"}}`, `{"Get":{"TableName":"t","Key":{"id":{"S":"a"}}}}`, `{"Put":{"TableName":"t","Item":{"id":{"S":"a"}}}}`
	projected := strings.TrimSuffix(get, "}}") + `,"ProjectionExpression":"id"}}`
	for name, c := range map[string]struct {
		operation, body string
		status          int
		answer          string
		writes, reads   float64
	}{
		"batch get, rejected":      {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`, 400, failed("ValidationException"), 0, 0},
		"batch get, broken off":    {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`, 0, "", 0, 0.5},
		"batch write, broken off":  {"BatchWriteItem", `{"RequestItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`, 0, "", 3, 0},
		"put, broken off":          {"PutItem", `{"TableName":"t","Item":{"id":{"S":"a"}}}`, 0, "", 1, 0},
		"get, broken off":          {"GetItem", `{"TableName":"t",` + key + `}`, 0, "", 0, 0.5},
		"reads, broken off":        {"TransactGetItems", `{"TransactItems":[` + get + `]}`, 0, "", 0, 2},
		"transaction, broken off":  {"TransactWriteItems", `{"TransactItems":[` + put + `]}`, 0, "", 6, 0},
		"batch get":                {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`, 200, `{"Responses":{"t":[` + large + `]}}`, 0, 0.5},
		"batch get of 7,500 bytes": {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`, 200, `{"Responses":{"t":[` + strings.Replace(large, "x", strings.Repeat("x", 5001), 1) + `]}}`, 0, 1},
		"batch get, unreadable":    {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`, 200, `[]`, 0, 0.5},
		"batch get, unprocessed":   {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`, 200, `{"UnprocessedKeys":{"t":{"Keys":[{"id":{"S":"a"}}]}}}`, 0, 0},
		"batch get, projected":     {"BatchGetItem", `{"RequestItems":{"t":{"ProjectionExpression":"id","Keys":[{"id":{"S":"a"}}]}}}`, 200, `{"Responses":{"t":[{"id":{"S":"a"}}]},"ConsumedCapacity":[{"TableName":"t","CapacityUnits":2},{"TableName":"u","CapacityUnits":7}]}`, 0, 2},
		"batch write, rejected":    {"BatchWriteItem", `{"RequestItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`, 400, failed("ValidationException"), 0, 0},
		"batch write":              {"BatchWriteItem", `{"RequestItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`, 200, `{}`, 3, 0},
		"batch write, unreadable":  {"BatchWriteItem", `{"RequestItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`, 200, `[]`, 3, 0},
		"batch write, cut off":     {"BatchWriteItem", `{"RequestItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`, 200, `{"UnprocessedItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}`, 3, 0},
		"batch of other accounts":  {"BatchWriteItem", `{"RequestItems":{"arn:aws:dynamodb:x:1:table/t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}],"arn:aws:dynamodb:x:2:table/t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}]}}`, 200, `{}`, 0, 0},
		"put by ARN, broken off":   {"PutItem", `{"TableName":"` + arnOfT + `","Item":{"id":{"S":"a"}}}`, 0, "", 1, 0},
		"put, failed condition":    {"PutItem", `{"TableName":"t","Item":{"id":{"S":"a"}}}`, 400, failed("ConditionalCheckFailedException"), 3, 0},
		"put, rejected":            {"PutItem", `{"TableName":"t","Item":{"id":{"S":"a"}}}`, 400, failed("ValidationException"), 0, 0},
		"update of a value":        {"UpdateItem", `{"TableName":"t",` + key + `,"UpdateExpression":"SET a = b"}`, 200, `{"Attributes":` + large + `,"ConsumedCapacity":{"Table":{"CapacityUnits":4}}}`, 4, 0},
		"update to a value":        {"UpdateItem", `{"TableName":"t",` + key + `,"UpdateExpression":"SET a = :a","ExpressionAttributeValues":{":a":{"S":"b"}}}`, 200, `{"Attributes":` + large + `}`, 3, 0},
		"put":                      {"PutItem", `{"TableName":"t","Item":{"id":{"S":"a"}}}`, 200, `{"Attributes":` + large + `}`, 3, 0},
		"update, not reported":     {"UpdateItem", `{"TableName":"t",` + key + `,"UpdateExpression":"ADD n :n"}`, 200, `{}`, 1, 0},
		"update, of two tables":    {"UpdateItem", `{"TableName":"t",` + key + `,"UpdateExpression":"ADD n :n"}`, 200, `{"ConsumedCapacity":[{"Table":{"CapacityUnits":9}},{"Table":{"CapacityUnits":9}}]}`, 1, 0},
		"update":                   {"UpdateItem", `{"TableName":"t",` + key + `,"UpdateExpression":"ADD n :n"}`, 200, `{"ConsumedCapacity":{"Table":{"CapacityUnits":4},"LocalSecondaryIndexes":{"l":{"CapacityUnits":2}}}}`, 6, 0},
		"get":                      {"GetItem", `{"TableName":"t",` + key + `}`, 200, `{"ConsumedCapacity":{"CapacityUnits":3}}`, 0, 3},
		"get of nothing":           {"GetItem", `{"TableName":"t",` + key + `}`, 200, `{"ConsumedCapacity":{"CapacityUnits":0}}`, 0, 0.5},
		"get, not reported":        {"GetItem", `{"TableName":"t",` + key + `}`, 200, `{}`, 0, 0.5},
		"get, rejected":            {"GetItem", `{"TableName":"t",` + key + `}`, 400, `{"ConsumedCapacity":{"CapacityUnits":3}}`, 0, 0},
		"transaction of reads":     {"TransactGetItems", `{"TransactItems":[` + get + `,` + projected + `]}`, 200, `{"Responses":[{"Item":` + large + `},{"Item":{"id":{"S":"a"}}}],"ConsumedCapacity":[{"CapacityUnits":8}]}`, 0, 8},
		"reads without responses":  {"TransactGetItems", `{"TransactItems":[` + get + `,` + projected + `]}`, 200, `{"Responses":[{}],"ConsumedCapacity":[{"CapacityUnits":8}]}`, 0, 0},
		"transaction":              {"TransactWriteItems", `{"TransactItems":[` + put + `]}`, 200, `{}`, 6, 0},
		"cancelled by a condition": {"TransactWriteItems", `{"TransactItems":[` + put + `]}`, 400, cancelled("ConditionalCheckFailed"), 6, 0},
		"cancelled by a throttle":  {"TransactWriteItems", `{"TransactItems":[` + put + `]}`, 400, cancelled("ThrottlingError"), 0, 0},
		"read before, rejected":    {"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"t","Item":{"id":{"S":"` + unreadable + `"}}}}]}`, 400, failed("ValidationException"), 0, 0},
		"batch's read, rejected":   {"BatchWriteItem", `{"RequestItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"` + unreadable + `"}}}}]}}`, 400, failed("ValidationException"), 0, 0},
		"transaction, rejected":    {"TransactWriteItems", `{"TransactItems":[` + put + `]}`, 400, failed("ValidationException"), 0, 0},
	} {
		l, call := limited(t, scripted(t, c.status, large, c.answer))
		if status, text := call(c.operation, c.body); status != c.status {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if s := l.Stats(); s.WriteUnits != c.writes || s.ReadUnits != c.reads {
			t.Errorf("%s: charged %v and %v units, want %v and %v", name, s.WriteUnits, s.ReadUnits, c.writes, c.reads)
		}
		for _, known := range l.Report().Tables { // with one partition of 1 WCU/s and 3 RCU/s
			if p := known.Partitions[0]; p.WriteTokens != 1-c.writes || p.ReadTokens != 3-c.reads {
				t.Errorf("%s: the buckets have %v and %v units after charges of %v and %v", name, p.WriteTokens, p.ReadTokens, c.writes, c.reads)
			}
		}
	}
}

// TestInvalidPass checks that requests that the engine will reject, and operations without limits, are passed on and cost nothing.
func TestInvalidPass(t *testing.T) {
	list := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
	const get, put = `{"Get":{"TableName":"t","Key":{"id":{"S":"a"}}}}`, `{"Put":{"TableName":"t","Item":{"id":{"S":"a"}}}}`
	for _, c := range []struct{ operation, body string }{
		{"BatchGetItem", `{"RequestItems":{}}`}, {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[` + list(101, `{"id":{"S":"a"}}`) + `]}}}`}, {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[7]}}}`}, {"BatchGetItem", `{"RequestItems":{"t":{"Keys":[{"other":{"S":"a"}}]}}}`},
		{"BatchWriteItem", `{"RequestItems":{}}`}, {"BatchWriteItem", `{"RequestItems":{"t":[` + list(101, `{"DeleteRequest":{"Key":{"id":{"S":"a"}}}}`) + `]}}`}, {"BatchWriteItem", `{"RequestItems":{"t":[{}]}}`},
		{"TransactGetItems", `{"TransactItems":[]}`}, {"TransactGetItems", `{"TransactItems":[` + list(101, get) + `]}`}, {"TransactWriteItems", `{"TransactItems":[]}`}, {"TransactWriteItems", `{"TransactItems":[` + list(101, put) + `]}`}, {"TransactWriteItems", `{"TransactItems":[{}]}`},
		{"ListTables", `{}`}, {"ExecuteStatement", `{"Statement":"SELECT * FROM t"}`}, {"PutItem", "{"}, {"PutItem", "[]"}, {"PutItem", ""}, {"Scan", `{"TableName":"t","IndexName":7}`},
		{"PutItem", `{"TableName":"` + arnOfT + `","Item":{}}`}, {"DeleteItem", `{"TableName":"arn:aws:dynamodb:x:1:table/none","Key":{"id":{"S":"a"}}}`}, {"DeleteItem", `{"TableName":"none","Key":{"id":{"S":"a"}}}`},
		{"Query", `{"TableName":"t","IndexName":"absent"}`}, {"PutItem", `{"TableName":"t","Item":{}}`}, {"GetItem", `{"TableName":7}`},
	} {
		l, call := limited(t, scripted(t, http.StatusBadRequest, "", "rejected"))
		if status, text := call(c.operation, c.body); status != http.StatusBadRequest || text != "rejected" || l.Stats().WriteUnits+l.Stats().ReadUnits != 0 || len(l.Report().Throttled) > 0 {
			t.Errorf("%s %.100s: %d %s, %+v", c.operation, c.body, status, text, l.Stats())
		}
	}
}

// TestThrottledCalls checks how transactions and batches without capacity are counted.
func TestThrottledCalls(t *testing.T) {
	l, call := limited(t, scripted(t, http.StatusOK, "", `{"Responses":[{}],"ConsumedCapacity":[{"CapacityUnits":2}]}`))
	for i := range 3 {
		for operation, body := range map[string]string{
			"TransactWriteItems": `{"TransactItems":[{"Put":{"TableName":"t","Item":{"id":{"S":"a"}}}}]}`,
			"TransactGetItems":   `{"TransactItems":[{"Get":{"TableName":"t","Key":{"id":{"S":"a"}}}}]}`,
		} {
			if status, text := call(operation, body); (status == http.StatusOK) != (i == 0 || i == 1 && operation == "TransactGetItems") {
				t.Errorf("%s %d: %d %s", operation, i, status, text)
			}
		}
	}
	if status, text := call("BatchWriteItem", `{"RequestItems":{"t":[{"DeleteRequest":{"Key":{"id":{"S":"a"}}}},{"DeleteRequest":{"Key":{"id":{"S":"b"}}}}]}}`); status != http.StatusBadRequest {
		t.Errorf("a batch: %d %s", status, text)
	}
	if n := l.Stats().Throttled; n != 2+1+1 {
		t.Errorf("%d throttles, want those of two transactions that write, one that reads, and a batch", n)
	}
	if writes := l.ThrottledWrites("t", time.Unix(1_800_000_000, 0), time.Unix(1_800_000_001, 0)); len(writes) != 1 || writes[0].Writes != 4 || len(writes[0].Keys) != 2 || writes[0].Keys[0] != (throttle.ThrottledKey{Key: "a", Writes: 3}) {
		t.Errorf("throttled writes: %+v", writes)
	}
}

// TestUnanswered checks that the proxy rejects a body that breaks off, which costs nothing, and the error if the engine
// does not answer, which it logs if the caller waits.
func TestUnanswered(t *testing.T) {
	var log strings.Builder
	usual := slog.Default()
	defer func() { slog.SetDefault(usual); stdlog.SetOutput(os.Stderr) }() // SetDefault redirects package log, too
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	const put, failed = `{"TableName":"t","Item":{"id":{"S":"a"}}}`, "502 InternalServerError"
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, c := range []struct {
		ctx       context.Context
		body      io.Reader
		want, log string
	}{
		{t.Context(), iotest.ErrReader(io.ErrUnexpectedEOF), "400 SerializationException", ""}, {gone, strings.NewReader(put), failed, ""},
		{t.Context(), strings.NewReader(put), failed, `operation=DynamoDB_20120810.PutItem error="unexpected EOF"`},
	} {
		l, _ := limited(t, scripted(t, 0, "", ""))
		req := httptest.NewRequestWithContext(c.ctx, "POST", "/", c.body)
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
		w := httptest.NewRecorder()
		l.Proxy(&url.URL{Scheme: "http", Host: "engine"}).ServeHTTP(w, req)
		code, exception, _ := strings.Cut(c.want, " ")
		if fmt.Sprint(w.Code) != code || !strings.Contains(w.Body.String(), "#"+exception) || code == "400" && len(l.Stats().Spaces) > 0 {
			t.Errorf("%d %s, charged %+v; want %s", w.Code, w.Body, l.Stats(), c.want)
		}
		if !strings.Contains(log.String(), c.log) || c.log == "" && log.Len() > 0 {
			t.Errorf("%s: the log %s, want %s", c.want, log.String(), c.log)
		}
	}
}

// TestReportAfterTheTable checks that throttles of scans have no key, and that those of a deleted table stay.
func TestReportAfterTheTable(t *testing.T) {
	l, call := limited(t, scripted(t, http.StatusOK, "", `{"ConsumedCapacity":{"CapacityUnits":9}}`))
	for range 2 {
		call("Scan", `{"TableName":"t"}`)
		call("PutItem", `{"TableName":"t","Item":{"id":{"S":"a"}}}`)
	}
	for _, known := range []bool{true, false} {
		report := l.Report()
		if len(report.Throttled) != 2 || len(report.Totals) != 2 || (len(report.Tables) == 1) != known {
			t.Fatalf("%+v", report)
		}
		for _, k := range report.Throttled {
			if k.Key != "" && k.Key != "a" || k.Table != "t" || k.Count != 1 {
				t.Errorf("%+v", k)
			}
		}
		call("DeleteTable", `{"TableName":"t"}`)
	}
}
