package throttle_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// arns are ARNs of the same table: DynamoDB Local takes any partition, account and Region.
var arns = []string{
	tableARN, "arn:aws:dynamodb:eu-west-1:123456789012:table/limited", "arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/limited",
	"arn:aws-cn:dynamodb:cn-north-1:123456789012:table/limited",
}

// arnCalls are calls that name the table %s, and answer with its name in some place.
var arnCalls = []struct{ operation, body string }{
	{"PutItem", `{"TableName":"%s","Item":{"pk":{"S":"a"},"sk":{"S":"1"}},"ReturnConsumedCapacity":"TOTAL"}`},
	{"UpdateItem", `{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}},"UpdateExpression":"SET c = :c","ExpressionAttributeValues":{":c":{"N":"1"}},"ReturnConsumedCapacity":"INDEXES"}`},
	{"GetItem", `{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}},"ReturnConsumedCapacity":"TOTAL"}`},
	{"Query", `{"TableName":"%s","KeyConditionExpression":"pk = :p","ExpressionAttributeValues":{":p":{"S":"a"}},"ReturnConsumedCapacity":"TOTAL"}`},
	{"Scan", `{"TableName":"%s","ReturnConsumedCapacity":"TOTAL"}`},
	{"BatchGetItem", `{"RequestItems":{"%s":{"Keys":[{"pk":{"S":"a"},"sk":{"S":"1"}}]}},"ReturnConsumedCapacity":"TOTAL"}`},
	{"TransactGetItems", `{"TransactItems":[{"Get":{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}}],"ReturnConsumedCapacity":"TOTAL"}`},
	{"TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":"%[1]s","Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}},{"ConditionCheck":{"TableName":"%[1]s","Key":{"pk":{"S":"b"},"sk":{"S":"1"}},"ConditionExpression":"attribute_not_exists(pk)"}}],"ReturnConsumedCapacity":"TOTAL"}`},
	{"BatchWriteItem", `{"RequestItems":{"%s":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"1"},"note":{"S":"arn:aws:dynamodb:x:1:table/limited"}}}}]},"ReturnConsumedCapacity":"TOTAL","ReturnItemCollectionMetrics":"SIZE"}`},
	{"ExecuteStatement", `{"Statement":"SELECT * FROM \"%s\" WHERE pk = 'a'"}`},
	{"ExecuteStatement", `{"Statement":"INSERT INTO \"%s\" VALUE {'pk':'p','sk':'1','note':'\"arn:aws:dynamodb:x:1:table/limited\"'}"}`},
	{"BatchExecuteStatement", `{"Statements":[{"Statement":"SELECT * FROM \"%s\" WHERE pk = 'a' AND sk = '1'"}]}`},
	{"ExecuteTransaction", `{"TransactStatements":[{"Statement":"SELECT * FROM \"%s\" WHERE pk = 'a' AND sk = '1'"}]}`},
	{"DescribeTable", `{"TableName":"%s"}`},
	{"DescribeTimeToLive", `{"TableName":"%s"}`},
	{"DeleteItem", `{"TableName":"%s","Key":{"pk":{"S":"a"},"sk":{"S":"1"}},"ReturnConsumedCapacity":"TOTAL"}`},
}

// TestTableByItsARN checks that each call works by each ARN as by the name, and that its answer has what the caller used.
func TestTableByItsARN(t *testing.T) {
	for _, arn := range arns {
		byName, byARN := newBench(t, roomy), newBench(t, roomy)
		for _, call := range arnCalls {
			want := byName.post(t, byName.wire, call.operation, fmt.Sprintf(call.body, tableName))
			got := byARN.post(t, byARN.wire, call.operation, fmt.Sprintf(call.body, arn))
			if strings.HasPrefix(got, "200") && call.operation == "DescribeTable" {
				continue // the times differ
			}
			wantEqual(t, call.operation+" by "+arn, contents(t, inTheCallersWords(want, call.operation, arn)), contents(t, got))
		}
		wantEqual(t, "charges", byName.Stats(), byARN.Stats())
	}
}

// inTheCallersWords returns an answer in which the table has an ARN instead of its name. Answers of statements keep names.
func inTheCallersWords(answer, operation, arn string) string {
	if strings.HasPrefix(operation, "Execute") || strings.HasPrefix(operation, "BatchExecute") {
		return answer
	}
	return strings.NewReplacer(`"TableName":"limited"`, `"TableName":"`+arn+`"`, `"limited":`, `"`+arn+`":`).Replace(answer)
}

// contents returns the status and the decoded body of an answer.
func contents(t *testing.T, answer string) (c struct {
	Status string
	Body   any
}) {
	t.Helper()
	c.Status, answer, _ = strings.Cut(answer, "{")
	if err := json.Unmarshal([]byte("{"+answer), &c.Body); err != nil {
		t.Errorf("%v: %s", err, answer)
	}
	return c
}

// TestNotATablesARN checks that what is no table's ARN is rejected with what was expected.
func TestNotATablesARN(t *testing.T) {
	b := newBench(t, roomy)
	for named, want := range map[string]string{
		tableARN + "/index/by_group":                 "leave out /index/by_group",
		tableARN + "/stream/2026-01-05T00:00:00.000": "leave out /stream/2026-01-05T00:00:00.000",
		tableARN + "/": "leave out /",
		"arn:aws:dynamodb:eu-west-1:123456789012:table":               "such as arn:aws:dynamodb:eu-west-1:123456789012:table/orders",
		"arn:aws:dynamodb:eu-west-1":                                  "such as arn:aws:dynamodb:eu-west-1:123456789012:table/orders",
		"arn:aws:sqs:eu-west-1:123456789012:limited":                  "such as arn:aws:dynamodb:eu-west-1:123456789012:table/orders",
		"arn:aws:dynamodb:eu-west-1:123456789012:table/limited:alias": "such as arn:aws:dynamodb:eu-west-1:123456789012:table/orders",
		"arn:aws:dynamodb::123456789012:global-table/limited":         "such as arn:aws:dynamodb:eu-west-1:123456789012:table/orders",
	} {
		for _, call := range namedCalls {
			if got := b.post(t, b.wire, call.operation, fmt.Sprintf(call.body, named)); !strings.HasPrefix(got, "400") || !strings.Contains(got, "ValidationException") || !strings.Contains(got, want) {
				t.Errorf("%s of %s: %s", call.operation, named, got)
			}
		}
	}
	if s := b.Stats(); len(s.Spaces) > 0 {
		t.Errorf("charged %+v", s)
	}
}

// TestNameAndARNInOneCall checks calls that name a table in both ways. Such batches pass uncharged.
func TestNameAndARNInOneCall(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 6, PartitionRCU: 6})
	put := func(name, key string) string {
		return `{"Put":{"TableName":"` + name + `","Item":{"pk":{"S":"` + key + `"},"sk":{"S":"1"}}}}`
	}
	requests := func(name, key string) string {
		return `"` + name + `":[{"PutRequest":{"Item":{"pk":{"S":"` + key + `"},"sk":{"S":"1"}}}}]`
	}
	for i, c := range []struct{ operation, body, want string }{
		{"TransactWriteItems", `{"TransactItems":[` + put(tableName, "a") + `,` + put(tableARN, "b") + `]}`, "200"},
		{"TransactWriteItems", `{"TransactItems":[` + put(tableName, "a") + `,` + put(tableARN, "a") + `]}`, "400"}, // one item twice
		{"BatchWriteItem", `{"RequestItems":{` + requests(tableName, "c") + `,` + requests(tableARN, "d") + `}}`, "200"},
		{"BatchWriteItem", `{"RequestItems":{` + requests(tableName, "e") + `,` + requests(tableARN, "f") + `}}`, "200"},
	} {
		if got := b.post(t, b.wire, c.operation, c.body); !strings.HasPrefix(got, c.want) {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	if s := b.Stats(); s.WriteUnits != 4 || len(s.Spaces) != 1 {
		t.Errorf("charged %v units of %d tables, want 4 of one", s.WriteUnits, len(s.Spaces))
	}
}

// renaming is an engine that answers a request by a table's ARN with the table's name, or that takes no ARNs.
type renaming struct {
	base     http.RoundTripper
	rejects  string // the exception for ARNs
	mu       sync.Mutex
	received []string
}

func (r *renaming) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	r.received = append(r.received, string(body))
	r.mu.Unlock()
	text := string(body)
	if strings.Contains(text, "arn:") && r.rejects != "" {
		return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"__type":"x#` + r.rejects + `"}`))}, nil
	}
	for _, arn := range arns {
		text = strings.ReplaceAll(text, arn, tableName)
	}
	req = req.Clone(req.Context())
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return r.base.RoundTrip(req)
}

// TestEngineThatAnswersWithNames sends batches by ARN to engines that answer with names, or that take names only. Each
// item is throttled, left or written once, and the answer has the ARN.
func TestEngineThatAnswersWithNames(t *testing.T) {
	for _, rejects := range []string{"", "ValidationException"} {
		for _, arn := range arns {
			engine := &renaming{base: dynamolocal.Transport(), rejects: rejects}
			b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionRCU: 1, Base: engine})
			write := `{"RequestItems":{"` + arn + `":[{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"1"}}}},{"PutRequest":{"Item":{"pk":{"S":"a"},"sk":{"S":"2"}}}}]}}`
			if got := b.post(t, b.wire, "BatchWriteItem", write); !strings.HasPrefix(got, "200") || !strings.Contains(got, `"`+arn+`":[{"PutRequest"`) || strings.Count(got, "PutRequest") != 1 {
				t.Errorf("%q: a batch of writes by %s: %s", rejects, arn, got)
			}
			read := `{"RequestItems":{"` + arn + `":{"ConsistentRead":true,"Keys":[{"pk":{"S":"a"},"sk":{"S":"1"}},{"pk":{"S":"a"},"sk":{"S":"2"}}]}}}`
			if got := b.post(t, b.wire, "BatchGetItem", read); !strings.HasPrefix(got, "200") || strings.Count(got, `"`+arn+`":`) != 2 || strings.Contains(got, `"limited":`) {
				t.Errorf("%q: a batch of reads by %s: %s", rejects, arn, got)
			}
			if s := b.Stats(); s.WriteUnits != 1 || s.ReadUnits != 1 || len(s.Spaces) != 1 {
				t.Errorf("%q: charged %v and %v units of %d tables", rejects, s.WriteUnits, s.ReadUnits, len(s.Spaces))
			}
		}
	}
}

// TestOtherAccountsTable checks that a call for a table that the engine has under an ARN only passes unchanged.
func TestOtherAccountsTable(t *testing.T) {
	const own, other = "arn:aws:dynamodb:x:1:table/t", "arn:aws:dynamodb:x:2:table/t"
	var received []string
	base := roundTrip(func(r *http.Request) (*http.Response, error) {
		sent, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		received = append(received, string(sent))
		text := `{}`
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeTable") {
			text = strings.Replace(describedTable, `"arn"`, `"`+own+`"`, 1)
			if strings.Contains(string(sent), other) {
				text = strings.Replace(describedTable, `"arn"`, `"`+other+`"`, 1)
			}
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}, nil
	})
	l, err := throttle.New(throttle.Options{Partitions: 1, PartitionWCU: 1, Base: base})
	require.NoError(t, err)
	for _, name := range []string{"t", other} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://engine/", strings.NewReader(`{"TableName":"`+name+`","Item":{"id":{"S":"a"}}}`))
		require.NoError(t, err)
		req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
		resp, err := l.RoundTrip(req)
		require.NoError(t, err)
		resp.Body.Close()
		if last := received[len(received)-1]; resp.StatusCode != http.StatusOK || !strings.Contains(last, `"TableName":"`+name+`"`) {
			t.Errorf("%s: %d, sent %s", name, resp.StatusCode, last)
		}
	}
	if len(l.Report().Tables) != 1 || l.Stats().WriteUnits != 1 {
		t.Errorf("%+v", l.Report().Tables)
	}
}
