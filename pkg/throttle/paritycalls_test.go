package throttle_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// parityTable has a global index with the attribute tag, and a local index with all attributes.
func parityTable() *dynamodb.CreateTableInput {
	table := onDemandTable()
	table.GlobalSecondaryIndexes[0].KeySchema = table.GlobalSecondaryIndexes[0].KeySchema[:1]
	table.LocalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: types.ProjectionTypeAll}
	return table
}

type asked = types.ReturnConsumedCapacity

// parityCase is a call and what AWS charges for it. The table's units include its local index's.
type parityCase struct {
	before []values // stored before the call, with its partition key
	call   func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error

	table, index float64
	reads        bool
}

func parityPut(more values, condition *string) parityCase {
	return parityCase{call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf(pk, "1", more), ConditionExpression: condition, ReturnConsumedCapacity: a})
		return err
	}}
}

func parityUpdate(expression string, v values) parityCase {
	return parityCase{call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		in := updateOf(pk, expression, v)
		in.ReturnConsumedCapacity = a
		_, err := db.UpdateItem(ctx, in)
		return err
	}}
}

func parityDelete() parityCase {
	return parityCase{call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		_, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: keyOf(pk, "1"), ReturnConsumedCapacity: a})
		return err
	}}
}

func parityGet(sk string, consistent bool) parityCase {
	return parityCase{reads: true, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		_, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyOf(pk, sk), ConsistentRead: &consistent, ReturnConsumedCapacity: a})
		return err
	}}
}

// parityQuery queries the table, or the group "g" of the index if in names it.
func parityQuery(in dynamodb.QueryInput) parityCase {
	return parityCase{reads: true, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		in := in
		in.TableName, in.ReturnConsumedCapacity = aws.String(tableName), a
		in.KeyConditionExpression, in.ExpressionAttributeValues = aws.String("pk = :p"), values{":p": s(pk)}
		if in.IndexName != nil {
			in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = aws.String("#g = :p"), map[string]string{"#g": "group"}, values{":p": s("g")}
		}
		if in.FilterExpression != nil {
			in.ExpressionAttributeValues[":x"] = s("x")
		}
		_, err := db.Query(ctx, &in)
		return err
	}}
}

func parityScan(in dynamodb.ScanInput) parityCase {
	return parityCase{reads: true, call: func(ctx context.Context, db *dynamodb.Client, _ string, a asked) error {
		in := in
		in.TableName, in.ReturnConsumedCapacity = aws.String(tableName), a
		if in.FilterExpression != nil {
			in.ExpressionAttributeValues = values{":x": s("x")}
		}
		_, err := db.Scan(ctx, &in)
		return err
	}}
}

// parityTransact sends a transaction, which costs reads if its token is known.
func parityTransact(again bool, actions func(pk string) []types.TransactWriteItem) parityCase {
	return parityCase{reads: again, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		token := "token" + pk
		_, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions(pk), ReturnConsumedCapacity: a, ClientRequestToken: &token})
		return err
	}}
}

func parityActions(more values, condition *string, check bool) func(pk string) []types.TransactWriteItem {
	return func(pk string) []types.TransactWriteItem {
		actions := []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String(tableName), Item: itemOf(pk, "new", more), ConditionExpression: condition}}}
		if check {
			actions = append(actions, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
				TableName: aws.String(tableName), Key: keyOf(pk, "1"), ConditionExpression: aws.String("attribute_exists(pk)"),
			}})
		}
		return actions
	}
}

func parityTransactGet(sks ...string) parityCase {
	return parityCase{reads: true, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: a}
		for _, sk := range sks {
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: aws.String(tableName), Key: keyOf(pk, sk)}})
		}
		_, err := db.TransactGetItems(ctx, in)
		return err
	}}
}

func parityBatch(items ...values) parityCase {
	return parityCase{call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		var all []values
		for i, more := range items {
			all = append(all, itemOf(pk, fmt.Sprint(i), more))
		}
		_, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: putRequests(all...), ReturnConsumedCapacity: a})
		return err
	}}
}

func parityStatement(reads bool, statement string) parityCase {
	return parityCase{reads: reads, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) error {
		text := strings.ReplaceAll(statement, "$", pk)
		_, err := db.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{Statement: &text, ReturnConsumedCapacity: a})
		return err
	}}
}

func (c parityCase) costs(table, index float64, before ...values) parityCase {
	c.table, c.index, c.before = table, index, before
	return c
}
