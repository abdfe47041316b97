package throttle_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
)

// ignoreMetadata ignores the request's id and timing.
var ignoreMetadata = cmp.FilterPath(func(p cmp.Path) bool {
	return p.Last().String() == ".ResultMetadata"
}, cmp.Ignore())

const selectX = `SELECT * FROM "limited" WHERE pk = 'x' AND sk = '1'`

type sender = func(db *dynamodb.Client) (any, error)

// requests returns a request of each operation. Most writes change the index.
func requests(t *testing.T, capacity types.ReturnConsumedCapacity) map[string]sender {
	name := aws.String(tableName)
	ctx := t.Context()
	item := itemOf("a", "1", grouped("g", "1"))
	return map[string]sender{
		"PutItem": func(db *dynamodb.Client) (any, error) {
			return db.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: item, ReturnConsumedCapacity: capacity})
		},
		"UpdateItem": func(db *dynamodb.Client) (any, error) {
			in := updateOf("a2", "SET #g = :g, #r = :r", values{":g": s("g"), ":r": n("2")})
			in.ReturnConsumedCapacity = capacity
			return db.UpdateItem(ctx, in)
		},
		"DeleteItem": func(db *dynamodb.Client) (any, error) {
			// For no item, the engine returns a deletion's capacity unasked.
			if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: name, Item: itemOf("d", "1", grouped("g", "1"))}); err != nil {
				return nil, err
			}
			return db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: name, Key: keyOf("d", "1"), ReturnConsumedCapacity: capacity})
		},
		"GetItem": func(db *dynamodb.Client) (any, error) {
			return db.GetItem(ctx, &dynamodb.GetItemInput{TableName: name, Key: keyOf("x", "1"), ReturnConsumedCapacity: capacity})
		},
		"Query": func(db *dynamodb.Client) (any, error) {
			return db.Query(ctx, &dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("pk = :p"),
				ExpressionAttributeValues: values{":p": s("x")}, ReturnConsumedCapacity: capacity})
		},
		"Scan": func(db *dynamodb.Client) (any, error) {
			return db.Scan(ctx, &dynamodb.ScanInput{TableName: name, IndexName: aws.String(byGroup), Limit: aws.Int32(1),
				ExclusiveStartKey: itemOf("zz", "z", grouped("zz", "9")), ReturnConsumedCapacity: capacity})
		},
		"BatchWriteItem": func(db *dynamodb.Client) (any, error) {
			return db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: putRequests(itemOf("b", "1", grouped("g", "1"))), ReturnConsumedCapacity: capacity})
		},
		"BatchGetItem": func(db *dynamodb.Client) (any, error) {
			return db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: capacity,
				RequestItems: map[string]types.KeysAndAttributes{tableName: {Keys: []values{keyOf("x", "1"), keyOf("y", "1")}}}})
		},
		"TransactWriteItems": func(db *dynamodb.Client) (any, error) {
			return db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{ReturnConsumedCapacity: capacity,
				TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: name, Item: itemOf("c", "1", grouped("g", "1"))}}}})
		},
		"TransactGetItems": func(db *dynamodb.Client) (any, error) {
			return db.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: capacity,
				TransactItems: []types.TransactGetItem{{Get: &types.Get{TableName: name, Key: keyOf("x", "1")}}}})
		},
		"ExecuteStatement": func(db *dynamodb.Client) (any, error) {
			return db.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{Statement: aws.String(selectX), ReturnConsumedCapacity: capacity})
		},
		"BatchExecuteStatement": func(db *dynamodb.Client) (any, error) {
			return db.BatchExecuteStatement(ctx, &dynamodb.BatchExecuteStatementInput{ReturnConsumedCapacity: capacity,
				Statements: []types.BatchStatementRequest{{Statement: aws.String(selectX)}}})
		},
		"ExecuteTransaction": func(db *dynamodb.Client) (any, error) {
			return db.ExecuteTransaction(ctx, &dynamodb.ExecuteTransactionInput{ReturnConsumedCapacity: capacity,
				TransactStatements: []types.ParameterizedStatement{{Statement: aws.String(selectX)}}})
		},
	}
}
