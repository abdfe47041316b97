package throttle_test

import (
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

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

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
