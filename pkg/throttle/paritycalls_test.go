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
	before []values // items that are there; each gets the call's partition key
	call   func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error)

	table, index float64
	reads        bool
}

func one(c *types.ConsumedCapacity) []types.ConsumedCapacity {
	if c == nil {
		return nil
	}
	return []types.ConsumedCapacity{*c}
}

func parityPut(more values, condition *string) parityCase {
	return parityCase{call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		out, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf(pk, "1", more), ConditionExpression: condition, ReturnConsumedCapacity: a})
		if err != nil {
			return nil, err
		}
		return one(out.ConsumedCapacity), nil
	}}
}

func parityUpdate(expression string, v values) parityCase {
	return parityCase{call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		in := updateOf(pk, expression, v)
		in.ReturnConsumedCapacity = a
		out, err := db.UpdateItem(ctx, in)
		if err != nil {
			return nil, err
		}
		return one(out.ConsumedCapacity), nil
	}}
}

func parityDelete() parityCase {
	return parityCase{call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		out, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: keyOf(pk, "1"), ReturnConsumedCapacity: a})
		if err != nil {
			return nil, err
		}
		return one(out.ConsumedCapacity), nil
	}}
}

func parityGet(sk string, consistent bool) parityCase {
	return parityCase{reads: true, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		out, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyOf(pk, sk), ConsistentRead: &consistent, ReturnConsumedCapacity: a})
		if err != nil {
			return nil, err
		}
		return one(out.ConsumedCapacity), nil
	}}
}

// parityQuery queries the table, or the index for the group "g" if the condition names it.
func parityQuery(in dynamodb.QueryInput) parityCase {
	return parityCase{reads: true, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		in := in
		in.TableName, in.ReturnConsumedCapacity = aws.String(tableName), a
		in.KeyConditionExpression, in.ExpressionAttributeValues = aws.String("pk = :p"), values{":p": s(pk)}
		if in.IndexName != nil {
			in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = aws.String("#g = :p"), map[string]string{"#g": "group"}, values{":p": s("g")}
		}
		if in.FilterExpression != nil {
			in.ExpressionAttributeValues[":x"] = s("x")
		}
		out, err := db.Query(ctx, &in)
		if err != nil {
			return nil, err
		}
		return one(out.ConsumedCapacity), nil
	}}
}

func parityScan(in dynamodb.ScanInput) parityCase {
	return parityCase{reads: true, call: func(ctx context.Context, db *dynamodb.Client, _ string, a asked) ([]types.ConsumedCapacity, error) {
		in := in
		in.TableName, in.ReturnConsumedCapacity = aws.String(tableName), a
		if in.FilterExpression != nil {
			in.ExpressionAttributeValues = values{":x": s("x")}
		}
		out, err := db.Scan(ctx, &in)
		if err != nil {
			return nil, err
		}
		return one(out.ConsumedCapacity), nil
	}}
}

// parityTransact sends a transaction, and before it the same one if the token is to be used again.
func parityTransact(again bool, actions func(pk string) []types.TransactWriteItem) parityCase {
	return parityCase{reads: again, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		token := "token" + pk
		out, err := db.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions(pk), ReturnConsumedCapacity: a, ClientRequestToken: &token})
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
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
	return parityCase{reads: true, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: a}
		for _, sk := range sks {
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: aws.String(tableName), Key: keyOf(pk, sk)}})
		}
		out, err := db.TransactGetItems(ctx, in)
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	}}
}

func parityBatch(items ...values) parityCase {
	return parityCase{call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		var all []values
		for i, more := range items {
			all = append(all, itemOf(pk, fmt.Sprint(i), more))
		}
		out, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: putRequests(all...), ReturnConsumedCapacity: a})
		if err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	}}
}

func parityStatement(reads bool, statement string) parityCase {
	return parityCase{reads: reads, call: func(ctx context.Context, db *dynamodb.Client, pk string, a asked) ([]types.ConsumedCapacity, error) {
		text := strings.ReplaceAll(statement, "$", pk)
		out, err := db.ExecuteStatement(ctx, &dynamodb.ExecuteStatementInput{Statement: &text, ReturnConsumedCapacity: a})
		if err != nil {
			return nil, err
		}
		return one(out.ConsumedCapacity), nil
	}}
}

func (c parityCase) costs(table, index float64, before ...values) parityCase {
	c.table, c.index, c.before = table, index, before
	return c
}
