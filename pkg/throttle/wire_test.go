package throttle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestThrottleOnTheWire checks the body and the headers of a throttled response, which are AWS's.
func TestThrottleOnTheWire(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1})
	if _, err := admitted(t, func() error { return b.put(t, keyOf("a", "1")) }); err == nil {
		t.Fatal("nothing was throttled")
	}
	var got map[string]any
	require.NoError(t, json.Unmarshal(b.wire.body, &got))
	if message, _ := got["message"].(string); message == "" {
		t.Error("there is no message")
	}
	delete(got, "message")
	want := map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
		"ThrottlingReasons": []any{map[string]any{
			"reason": "TableWriteKeyRangeThroughputExceeded", "resource": tableARN,
		}},
	}
	wantEqual(t, "the response", want, got)
	for _, name := range []string{"X-Amz-Crc32", "X-Amzn-Requestid"} {
		if b.wire.head.Get(name) == "" {
			t.Errorf("the response has no %s", name)
		}
	}
	if got := b.wire.head.Get("Content-Type"); got != "application/x-amz-json-1.0" {
		t.Errorf("the response's type is %s", got)
	}
}

// TestFailedCondition checks that a failed condition costs the existing item's size. The item is returned only if the
// caller asked for it.
func TestFailedCondition(t *testing.T) {
	b := newBench(t, roomy)
	require.NoError(t, b.put(t, itemOf("a", "1", sized(2.5))))
	b.Reset()
	condition := map[bool]*string{true: aws.String("attribute_exists(pk)"), false: aws.String("attribute_not_exists(pk)")}
	tests := []struct {
		key  string
		show types.ReturnValuesOnConditionCheckFailure
		want float64
	}{
		{"a", "", 3},
		{"a", types.ReturnValuesOnConditionCheckFailureNone, 3},
		{"a", types.ReturnValuesOnConditionCheckFailureAllOld, 3},
		{"none", "", 1},
		{"none", types.ReturnValuesOnConditionCheckFailureAllOld, 1},
	}
	for _, test := range tests {
		key, failing, name := keyOf(test.key, "1"), condition[test.key != "a"], aws.String(tableName)
		for _, in := range []any{
			&dynamodb.PutItemInput{TableName: name, Item: key, ConditionExpression: failing, ReturnValuesOnConditionCheckFailure: test.show},
			&dynamodb.UpdateItemInput{TableName: name, Key: key, ConditionExpression: failing, ReturnValuesOnConditionCheckFailure: test.show},
			&dynamodb.DeleteItemInput{TableName: name, Key: key, ConditionExpression: failing, ReturnValuesOnConditionCheckFailure: test.show},
		} {
			_, err := send(t.Context(), b.db, in)
			failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
			if !ok {
				t.Fatalf("%+v: got %v, want a failed condition", test, err)
			}
			shown := test.show == types.ReturnValuesOnConditionCheckFailureAllOld && test.key == "a"
			if (len(failed.Item) > 0) != shown {
				t.Errorf("%+v: the exception of %s has the item %v", test, operationOf(in), failed.Item)
			}
		}
		if got := b.Stats().WriteUnits; got != 3*test.want {
			t.Errorf("%+v: three failures cost %v units, want %v", test, got, 3*test.want)
		}
		b.Reset()
	}
}

// TestCapacityAsAsked checks that the response of each operation equals the engine's for each ReturnConsumedCapacity.
func TestCapacityAsAsked(t *testing.T) {
	b := newBench(t, roomy)
	plain := newBench(t, roomy)
	for _, asked := range []types.ReturnConsumedCapacity{"", "NONE", "TOTAL", "INDEXES"} {
		for _, db := range []*dynamodb.Client{b.db, plain.direct} { // if no item is deleted, the engine returns the capacity unasked
			_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf("deleted", "1", grouped("g", "1"))})
			require.NoError(t, err)
		}
		for _, in := range requests() {
			got, err := send(t.Context(), b.db, asking(asked, in))
			require.NoError(t, err)
			want, err := send(t.Context(), plain.direct, in)
			require.NoError(t, err)
			wantEqual(t, fmt.Sprintf("%s with capacity %q", operationOf(in), asked), want, got, ignoreUnexported, ignoreMetadata)
		}
	}
}

// TestOtherOperationsPass checks that operations without limits are passed on and not charged. PartiQL statements are some.
func TestOtherOperationsPass(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionRCU: 1})
	for i := range 3 {
		insert := fmt.Sprintf(`INSERT INTO limited VALUE {'pk':'a','sk':'%d','data':'%s'}`, i, strings.Repeat("x", 3000))
		read := `SELECT * FROM limited WHERE pk = 'a'`
		for _, in := range []any{
			&dynamodb.ExecuteStatementInput{Statement: &insert},
			&dynamodb.BatchExecuteStatementInput{Statements: []types.BatchStatementRequest{{Statement: &read}}},
			&dynamodb.ExecuteTransactionInput{TransactStatements: []types.ParameterizedStatement{{Statement: aws.String(read + ` AND sk = '0'`)}}},
		} {
			require.NoError(t, b.send(t, in))
		}
	}
	if _, err := b.db.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
		t.Error(err)
	}
	streams := dynamolocal.Streams(enginetest.Endpoint(t), b.key, func(o *dynamodbstreams.Options) {
		o.HTTPClient = &http.Client{Transport: b.Limiter}
	})
	if _, err := streams.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{}); err != nil {
		t.Error(err)
	}
	if got := b.Stats(); got.ReadUnits != 0 || len(got.Operations) != 0 {
		t.Errorf("charged %+v", got)
	}
}

// TestEngineRejects checks that the engine's own errors are passed on and not charged.
func TestEngineRejects(t *testing.T) {
	b := newBench(t, roomy)
	bodies := map[string][]string{
		"PutItem": {
			`{`, `[]`, ``, `{"TableName":"limited"}`, `{"TableName":"none","Item":{"pk":{"S":"a"},"sk":{"S":"a"}}}`,
			`{"TableName":"limited","Item":{"pk":{"S":"a"}}}`, `{"TableName":"limited","Item":{"pk":{"N":"1"},"sk":{"S":"a"}}}`,
			`{"TableName":"limited","Item":{"pk":{"S":"a"},"sk":{"S":"a"}},"ReturnValues":"ALL_NEW"}`,
		},
		"UpdateItem": {
			`{"TableName":"limited","Key":{"pk":{"S":"a"},"sk":{"S":"a"}},"UpdateExpression":"SET"}`,
			`{"TableName":"limited","Key":{"pk":{"S":"a"},"sk":{"S":"a"}},"UpdateExpression":"SET pk = :x","ExpressionAttributeValues":{":x":{"S":"x"}}}`,
		},
		"BatchWriteItem": {
			`{"RequestItems":{}}`, `{"RequestItems":{"limited":[{}]}}`,
			`{"RequestItems":{"limited":[{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"S":"a"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"S":"a"}}}}]}}`,
			`{"RequestItems":{"limited":[{"DeleteRequest":{"Key":{"pk":{"N":"1"},"sk":{"S":"a"}}}}]}}`,
		},
		"BatchGetItem":       {`{"RequestItems":{}}`, `{"RequestItems":{"none":{"Keys":[{"pk":{"S":"a"}}]}}}`},
		"TransactWriteItems": {`{"TransactItems":[]}`, `{"TransactItems":[{"Put":{"TableName":"none","Item":{}}}]}`, `{"TransactItems":[{}]}`},
		"TransactGetItems":   {`{"TransactItems":[]}`, `{"TransactItems":[{"Get":{"TableName":"none","Key":{}}}]}`},
		"GetItem":            {`{"TableName":"none","Key":{}}`, `{"TableName":"limited","Key":{}}`},
		"Query":              {`{"TableName":"limited"}`, `{"TableName":"limited","IndexName":"none"}`},
		"Scan":               {`{"TableName":"limited","Limit":0}`},
	}
	for operation, texts := range bodies {
		for _, body := range texts {
			direct := b.post(t, dynamolocal.Transport(), operation, body)
			if !strings.HasPrefix(direct, "400") && !strings.HasPrefix(direct, "500") {
				t.Errorf("%s %s: the engine answers %s", operation, body, direct)
			}
			wantEqual(t, fmt.Sprintf("%s %s", operation, body), direct, b.post(t, b.wire, operation, body))
		}
	}
	if got := b.Stats(); got.ReadUnits != 0 || got.WriteUnits != 0 {
		t.Errorf("charged %+v", got)
	}
}

// TestProxy checks that the proxy throttles the SDK's requests as the limiter does.
func TestProxy(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 3})
	target, err := url.Parse(enginetest.Endpoint(t))
	require.NoError(t, err)
	server := httptest.NewServer(b.Proxy(target))
	defer server.Close()
	db := dynamolocal.DynamoDB(server.URL, b.key, func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.DisableValidateResponseChecksum = false
	})
	count, err := admitted(t, func() error {
		return errorOf(db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf("a", "1", sized(0.5))}))
	})
	if count != 3 {
		t.Errorf("%d writes admitted, want 3", count)
	}
	wantThrottled(t, "a fourth write", err, tableWriteThrottled)
	out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(tableName)})
	if err != nil || out.Count != 1 {
		t.Errorf("scan: %v, %v", out, err)
	}
}

// TestProxyWithoutEngine checks that an engine that is down is an InternalServerError.
func TestProxyWithoutEngine(t *testing.T) {
	l, err := throttle.New(roomy)
	require.NoError(t, err)
	server := httptest.NewServer(l.Proxy(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}))
	defer server.Close()
	db := dynamolocal.DynamoDB(server.URL, "", func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	_, err = db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyOf("a", "1")})
	if _, ok := errors.AsType[*types.InternalServerError](err); !ok {
		t.Errorf("got %v, want an InternalServerError", err)
	}
}

// ignoreMetadata ignores the request's id and timing.
var ignoreMetadata = cmp.FilterPath(func(p cmp.Path) bool {
	return p.Last().String() == ".ResultMetadata"
}, cmp.Ignore())

// requests returns an input of each operation. Most writes change the index.
func requests() []any {
	name := aws.String(tableName)
	return []any{
		&dynamodb.PutItemInput{TableName: name, Item: itemOf("a", "1", grouped("g", "1"))},
		updateOf("a2", "SET #g = :g, #r = :r", values{":g": s("g"), ":r": n("2")}),
		&dynamodb.DeleteItemInput{TableName: name, Key: keyOf("deleted", "1")},
		&dynamodb.GetItemInput{TableName: name, Key: keyOf("x", "1")},
		&dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: values{":p": s("x")}},
		&dynamodb.ScanInput{TableName: name, IndexName: aws.String(byGroup), Limit: aws.Int32(1), ExclusiveStartKey: itemOf("zz", "z", grouped("zz", "9"))},
		&dynamodb.BatchWriteItemInput{RequestItems: putRequests(itemOf("b", "1", grouped("g", "1")))},
		&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{tableName: {Keys: []values{keyOf("x", "1"), keyOf("y", "1")}}}},
		&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: name, Item: itemOf("c", "1", grouped("g", "1"))}}}},
		&dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: name, Key: keyOf("x", "1")}}}},
	}
}
