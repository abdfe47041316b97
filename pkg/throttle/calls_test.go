package throttle_test

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// errorOf returns the error of a call with one other result.
func errorOf[T any](_ T, err error) error { return err }

func (b *bench) put(t testing.TB, item values) error {
	t.Helper()
	return errorOf(b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item}))
}

func (b *bench) get(t testing.TB, pk, sk string, consistent bool) error {
	t.Helper()
	_, err := b.db.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(tableName), Key: keyOf(pk, sk), ConsistentRead: &consistent,
	})
	return err
}

// names returns the ExpressionAttributeNames of an expression.
func names(expression string) map[string]string {
	used := map[string]string{}
	for alias, name := range map[string]string{"#g": "group", "#r": "rank", "#t": "tag", "#x": "other"} {
		if strings.Contains(expression, alias) {
			used[alias] = name
		}
	}
	if len(used) == 0 {
		return nil
	}
	return used
}

// updateOf returns an update of the item with the sort key 1.
func updateOf(pk, expression string, v values) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: aws.String(tableName), Key: keyOf(pk, "1"), UpdateExpression: &expression,
		ExpressionAttributeNames: names(expression), ExpressionAttributeValues: v,
	}
}

func (b *bench) update(t testing.TB, in *dynamodb.UpdateItemInput) error {
	t.Helper()
	return errorOf(b.db.UpdateItem(t.Context(), in))
}

func (b *bench) remove(t testing.TB, pk, sk string) error {
	t.Helper()
	return errorOf(b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: keyOf(pk, sk)}))
}

func putRequests(items ...values) map[string][]types.WriteRequest {
	var requests []types.WriteRequest
	for _, item := range items {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
	}
	return map[string][]types.WriteRequest{tableName: requests}
}

// batchWrite returns the requests that were left unprocessed.
func (b *bench) batchWrite(t testing.TB, requests map[string][]types.WriteRequest) (map[string][]types.WriteRequest, error) {
	t.Helper()
	out, err := b.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: requests})
	if err != nil {
		return nil, err
	}
	return out.UnprocessedItems, nil
}

func (b *bench) transact(t testing.TB, items ...values) error {
	t.Helper()
	in := &dynamodb.TransactWriteItemsInput{}
	for _, item := range items {
		in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: aws.String(tableName), Item: item}})
	}
	return errorOf(b.db.TransactWriteItems(t.Context(), in))
}

func (b *bench) transactGet(t testing.TB, keys ...values) error {
	t.Helper()
	in := &dynamodb.TransactGetItemsInput{}
	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: aws.String(tableName), Key: key}})
	}
	return errorOf(b.db.TransactGetItems(t.Context(), in))
}

// send sends an input of any operation. It sends a copy, because the SDK adds a token to some inputs.
func send(ctx context.Context, db *dynamodb.Client, in any) (any, error) {
	sent := reflect.New(reflect.TypeOf(in).Elem())
	sent.Elem().Set(reflect.ValueOf(in).Elem())
	out := reflect.ValueOf(db).MethodByName(operationOf(in)).Call([]reflect.Value{reflect.ValueOf(ctx), sent})
	err, _ := out[1].Interface().(error)
	return out[0].Interface(), err
}

// send sends an input of any operation through the limiter.
func (b *bench) send(t testing.TB, in any) error {
	t.Helper()
	return errorOf(send(t.Context(), b.db, in))
}

// operationOf returns the name of an input's operation.
func operationOf(in any) string { return strings.TrimSuffix(reflect.TypeOf(in).Elem().Name(), "Input") }

// asking sets an input's ReturnConsumedCapacity, and returns the input.
func asking(capacity types.ReturnConsumedCapacity, in any) any {
	reflect.ValueOf(in).Elem().FieldByName("ReturnConsumedCapacity").SetString(string(capacity))
	return in
}

// request returns a request in the form of an SDK's.
func (b *bench) request(t testing.TB, endpoint, operation string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+operation)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+b.key+"/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	return req
}

// post sends a body and returns the status and the response.
func (b *bench) post(t testing.TB, transport http.RoundTripper, operation, body string) string {
	t.Helper()
	resp, err := transport.RoundTrip(b.request(t, enginetest.Endpoint(t), operation, strings.NewReader(body)))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.Status + " " + string(text)
}
