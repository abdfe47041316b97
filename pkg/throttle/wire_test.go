package throttle_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/throttle"
)

var roomy = throttle.Options{Partitions: 16, PartitionWCU: 1000}

// TestThrottleOnTheWire checks AWS's responses, byte by byte.
func TestThrottleOnTheWire(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1})
	if _, err := admitted(t, func() error { return b.put(t, keyOf("a", "1")) }); err == nil {
		t.Fatal("nothing was throttled")
	}
	var got map[string]any
	if err := json.Unmarshal(b.wire.body, &got); err != nil {
		t.Fatal(err)
	}
	if got["message"] == "" {
		t.Error("there is no message")
	}
	delete(got, "message")
	want := map[string]any{
		"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException",
		"ThrottlingReasons": []any{map[string]any{
			"reason": "TableWriteKeyRangeThroughputExceeded", "resource": tableARN,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"X-Amz-Crc32", "X-Amzn-Requestid"} {
		if b.wire.head.Get(name) == "" {
			t.Errorf("the response has no %s", name)
		}
	}
	if got := b.wire.head.Get("Content-Type"); got != "application/x-amz-json-1.0" {
		t.Errorf("the response's type is %s", got)
	}
}

// TestFailedCondition checks that a failed condition is charged the existing item's size. The
// item is returned only if the caller asked for it.
func TestFailedCondition(t *testing.T) {
	b := newBench(t, roomy)
	if err := b.put(t, itemOf("a", "1", sized(2.5))); err != nil {
		t.Fatal(err)
	}
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
		exists := test.key == "a"
		_, put := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName: aws.String(tableName), Item: keyOf(test.key, "1"),
			ConditionExpression: condition[!exists], ReturnValuesOnConditionCheckFailure: test.show,
		})
		_, update := b.db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(tableName), Key: keyOf(test.key, "1"),
			ConditionExpression: condition[!exists], ReturnValuesOnConditionCheckFailure: test.show,
		})
		_, remove := b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String(tableName), Key: keyOf(test.key, "1"),
			ConditionExpression: condition[!exists], ReturnValuesOnConditionCheckFailure: test.show,
		})
		for _, err := range []error{put, update, remove} {
			failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
			if !ok {
				t.Fatalf("%+v: got %v, want a failed condition", test, err)
			}
			shown := test.show == types.ReturnValuesOnConditionCheckFailureAllOld && exists
			if (len(failed.Item) > 0) != shown {
				t.Errorf("%+v: the exception shows %v", test, failed.Item)
			}
		}
		if got := b.Stats().WriteUnits; got != 3*test.want {
			t.Errorf("%+v: three failures cost %v units, want %v", test, got, 3*test.want)
		}
		b.Reset()
	}
}

// TestCapacityAsAsked checks that ConsumedCapacity equals the engine's.
func TestCapacityAsAsked(t *testing.T) {
	b := newBench(t, roomy)
	plain := newBench(t, roomy)
	for _, asked := range []types.ReturnConsumedCapacity{"", "NONE", "TOTAL", "INDEXES"} {
		for name, send := range requests(t, asked) {
			got, err := send(b.db)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want, err := send(plain.direct)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(want, got, ignoreUnexported, ignoreMetadata); diff != "" {
				t.Errorf("%s with capacity %q: %s", name, asked, diff)
			}
		}
	}
}

func TestOtherOperationsPass(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1, PartitionRCU: 1})
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
			if diff := cmp.Diff(direct, b.post(t, b.wire, operation, body)); diff != "" {
				t.Errorf("%s %s: %s", operation, body, diff)
			}
		}
	}
	if got := b.Stats(); got.ReadUnits != 0 || got.WriteUnits != 0 {
		t.Errorf("charged %+v", got)
	}
}

// post sends a raw body and returns the status and the response.
func (b *bench) post(t *testing.T, transport http.RoundTripper, operation, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, enginetest.Endpoint(t), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+b.key+"/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status + " " + string(text)
}

func TestProxy(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 3})
	target, err := url.Parse(enginetest.Endpoint(t))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(b.Proxy(target))
	defer server.Close()
	db := dynamolocal.DynamoDB(server.URL, b.key, func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.DisableValidateResponseChecksum = false
	})
	put := func() error {
		_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf("a", "1", sized(0.5))})
		return err
	}
	count, err := admitted(t, put)
	if count != 3 {
		t.Errorf("%d writes admitted, want 3", count)
	}
	if diff := cmp.Diff([]string{"TableWriteKeyRangeThroughputExceeded " + tableARN}, throttled(t, err)); diff != "" {
		t.Error(diff)
	}
	out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(tableName)})
	if err != nil || out.Count != 1 {
		t.Errorf("scan: %v, %v", out, err)
	}
	// A body without a length, as in a chunked request.
	b.advance(time.Minute)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, io.MultiReader(
		strings.NewReader(`{"TableName":"limited","Item":{"pk":{"S":"a"},`), strings.NewReader(`"sk":{"S":"2"}}}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+b.key+"/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || b.Stats().Keys.Writes[0].Units != 4 {
		t.Errorf("status %d, charged %+v", resp.StatusCode, b.Stats().Keys.Writes)
	}
}

func TestProxyWithoutEngine(t *testing.T) {
	l, err := throttle.New(roomy)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(l.Proxy(&url.URL{Scheme: "http", Host: "127.0.0.1:1"}))
	defer server.Close()
	db := dynamolocal.DynamoDB(server.URL, "", func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	_, err = db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyOf("a", "1")})
	if _, ok := errors.AsType[*types.InternalServerError](err); !ok {
		t.Errorf("got %v, want an InternalServerError", err)
	}
}
