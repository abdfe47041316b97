package enginetest

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TB is a test or a check of a property.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Put stores an item.
func Put(t TB, db *dynamodb.Client, table string, it dynamo.Item) {
	t.Helper()
	_, err := db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &table, Item: it})
	require.NoError(t, err)
}

var placeholder = regexp.MustCompile(`#\w+`)

// Update updates an item, and creates it if there is none. In the expression, #name stands for the
// attribute name.
func Update(t TB, db *dynamodb.Client, table, pk, sk, expression string, values dynamo.Item) {
	t.Helper()
	in := &dynamodb.UpdateItemInput{TableName: &table, Key: dynamo.Key(pk, sk), UpdateExpression: &expression}
	for _, name := range placeholder.FindAllString(expression, -1) {
		if in.ExpressionAttributeNames == nil {
			in.ExpressionAttributeNames = map[string]string{}
		}
		in.ExpressionAttributeNames[name] = name[1:]
	}
	if len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	_, err := db.UpdateItem(context.Background(), in)
	require.NoError(t, err)
}

// Delete deletes an item, if it exists.
func Delete(t TB, db *dynamodb.Client, table, pk, sk string) {
	t.Helper()
	_, err := db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: &table, Key: dynamo.Key(pk, sk)})
	require.NoError(t, err)
}

// Get returns an item, read strongly consistent; nil if there is none.
func Get(t TB, db *dynamodb.Client, table, pk, sk string) dynamo.Item {
	t.Helper()
	it, err := dynamo.Get(context.Background(), db, table, pk, sk)
	require.NoError(t, err)
	return it
}

// Query returns all items of a partition key.
func Query(t TB, db *dynamodb.Client, table, pk string) (list []dynamo.Item) {
	t.Helper()
	in := &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("pk = :pk"),
		ExpressionAttributeValues: dynamo.Item{":pk": dynamo.String(pk)},
	}
	for it, err := range dynamo.Items(context.Background(), db, in) {
		require.NoError(t, err)
		list = append(list, it)
	}
	return list
}

// Scan returns all items of a table.
func Scan(t TB, db *dynamodb.Client, table string) (list []dynamo.Item) {
	t.Helper()
	for page, err := range dynamo.ScanPages(context.Background(), db, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}) {
		require.NoError(t, err)
		list = append(list, page.Items...)
	}
	return list
}

// Eventually waits until done returns true, and fails the test after a minute or more.
func Eventually(t TB, done func() bool) {
	t.Helper()
	for range 1200 {
		if done() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the awaited condition was still false after a minute")
}

// WindowedBatch returns the payload by which Lambda delivers a stream shard's records to a function
// with a tumbling window.
func WindowedBatch(streamShard string, records ...string) []byte {
	return fmt.Appendf(nil, `{"Records":[%s],"window":{"start":"2026-01-05T12:00:00Z","end":"2026-01-05T12:00:10Z"},"state":{},"shardId":%q,`+
		`"isFinalInvokeForWindow":false,"isWindowTerminatedEarly":false}`, strings.Join(records, ","), streamShard)
}
