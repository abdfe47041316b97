package setup

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// row returns an item with these attributes and one more.
func row(names ...string) dynamo.Item {
	it := dynamo.Item{"n": dynamo.Number(1)}
	for _, name := range names {
		it[name] = dynamo.String("x")
	}
	return it
}

func canceled(items ...dynamo.Item) error {
	e := &types.TransactionCanceledException{}
	for _, it := range items {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: aws.String("ConditionalCheckFailed"), Item: it})
	}
	return fmt.Errorf("a call: %w", e)
}

var errLost = errors.New("lost")

// itemsOf returns an error's items.
func itemsOf(err error) (list []dynamo.Item) {
	if it, ok := dynamo.ConditionFailed(err); ok {
		return []dynamo.Item{it}
	}
	for i := range dynamo.FailedActions(err) {
		it, _ := dynamo.ActionFailed(err, i)
		list = append(list, it)
	}
	return list
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	ignored := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ResultMetadata" }, cmp.Ignore())
	exported := cmp.Exporter(func(reflect.Type) bool { return true })
	if diff := cmp.Diff(want, got, ignored, exported); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestCallsAndAnswers checks what is sent to DynamoDB, and which answers and errors callers get, for tables of hotshard's
// ("ours") and others ("theirs") in one call. A call that is repeated sends the same.
func TestCallsAndAnswers(t *testing.T) {
	arn := "arn:aws:dynamodb:eu-west-1:123456789012:table/ours"
	others := "arn:aws:dynamodb:eu-west-1:999999999999:table/ours-map"
	ours, theirs := aws.String("ours"), aws.String("theirs")
	reads := func(keys, names string) types.KeysAndAttributes {
		return types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{row(keys)}, ProjectionExpression: &names}
	}
	renamed := reads("PK", "n, #exchanged0")
	renamed.ExpressionAttributeNames = map[string]string{"#exchanged0": "PK"}
	gets := func(table *string, key string) types.TransactGetItem {
		return types.TransactGetItem{Get: &types.Get{TableName: table, Key: row(key)}}
	}
	puts := func(table *string, key string) types.TransactWriteItem {
		return types.TransactWriteItem{Put: &types.Put{TableName: table, Item: row(key)}}
	}
	requests := func(key string) []types.WriteRequest {
		return []types.WriteRequest{{PutRequest: &types.PutRequest{Item: row(key)}}, {DeleteRequest: &types.DeleteRequest{Key: row(key)}}}
	}
	for name, c := range map[string]struct {
		call, sent       any
		answer, received any   // nil for an error
		err, returned    error // nil for an answer
	}{
		"query": {
			call: &dynamodb.QueryInput{
				TableName: &arn, ExclusiveStartKey: row("pk"), KeyConditionExpression: aws.String("pk = :pk AND begins_with(#sk, :sk)"), FilterExpression: aws.String("size(#PK) > :n AND #m.#sk = :m.pk"),
				ExpressionAttributeNames: map[string]string{"#sk": "sk", "#PK": "PK", "#m": "m"}, ExpressionAttributeValues: row(":pk", ":sk"),
			},
			sent: &dynamodb.QueryInput{
				TableName: &arn, ExclusiveStartKey: row("PK"), KeyConditionExpression: aws.String("#exchanged0 = :pk AND begins_with(#exchanged1, :sk)"), FilterExpression: aws.String("size(#exchanged2) > :n AND #m.#sk = :m.pk"),
				ExpressionAttributeNames: map[string]string{"#exchanged0": "PK", "#exchanged1": "and", "#exchanged2": "pk", "#sk": "sk", "#m": "m"}, ExpressionAttributeValues: row(":pk", ":sk"),
			},
			answer:   &dynamodb.QueryOutput{Items: []map[string]types.AttributeValue{row("PK", "and"), row("pk")}, LastEvaluatedKey: row("PK", "and"), ConsumedCapacity: &types.ConsumedCapacity{TableName: ours}},
			received: &dynamodb.QueryOutput{Items: []map[string]types.AttributeValue{row("pk", "sk"), row("PK")}, LastEvaluatedKey: row("pk", "sk"), ConsumedCapacity: &types.ConsumedCapacity{TableName: ours}},
		},
		"another table": {
			call: &dynamodb.GetItemInput{TableName: theirs, Key: row("pk", "PK"), ProjectionExpression: aws.String("pk")}, sent: &dynamodb.GetItemInput{TableName: theirs, Key: row("pk", "PK"), ProjectionExpression: aws.String("pk")},
			answer: &dynamodb.GetItemOutput{Item: row("PK")}, received: &dynamodb.GetItemOutput{Item: row("PK")},
		},
		"condition": {
			call: &dynamodb.UpdateItemInput{TableName: ours, Key: row("pk", "sk"), UpdateExpression: aws.String("SET a = if_not_exists (pk, :a) ADD n :n")},
			sent: &dynamodb.UpdateItemInput{TableName: ours, Key: row("PK", "and"), UpdateExpression: aws.String("SET a = if_not_exists (#exchanged0, :a) ADD n :n"), ExpressionAttributeNames: map[string]string{"#exchanged0": "PK"}},
			err:  &types.ConditionalCheckFailedException{Item: row("PK", "and")}, returned: &types.ConditionalCheckFailedException{Item: row("pk", "sk")},
		},
		"condition on a missing item": {
			call: &dynamodb.DeleteItemInput{TableName: ours, Key: row("pk")}, sent: &dynamodb.DeleteItemInput{TableName: ours, Key: row("PK")},
			err: &types.ConditionalCheckFailedException{}, returned: &types.ConditionalCheckFailedException{},
		},
		"conditions that are no expressions": {
			call:   &dynamodb.QueryInput{TableName: ours, AttributesToGet: []string{"pk", "n"}, KeyConditions: map[string]types.Condition{"pk": {}}, QueryFilter: map[string]types.Condition{"n": {}}},
			sent:   &dynamodb.QueryInput{TableName: ours, AttributesToGet: []string{"PK", "n"}, KeyConditions: map[string]types.Condition{"PK": {}}, QueryFilter: map[string]types.Condition{"n": {}}},
			answer: &dynamodb.QueryOutput{}, received: &dynamodb.QueryOutput{},
		},
		"PartiQL": {
			call: &dynamodb.ExecuteStatementInput{Statement: ours}, sent: &dynamodb.ExecuteStatementInput{Statement: ours},
			answer:   &dynamodb.ExecuteStatementOutput{Items: []map[string]types.AttributeValue{row("PK")}, ConsumedCapacity: &types.ConsumedCapacity{TableName: ours}},
			received: &dynamodb.ExecuteStatementOutput{Items: []map[string]types.AttributeValue{row("PK")}, ConsumedCapacity: &types.ConsumedCapacity{TableName: ours}},
		},
		"PartiQL transaction": {
			call: &dynamodb.ExecuteTransactionInput{}, sent: &dynamodb.ExecuteTransactionInput{}, err: canceled(row("PK")), returned: canceled(row("PK")),
		},
		"table of another account": {
			call: &dynamodb.DeleteItemInput{TableName: &others, Key: row("pk")}, sent: &dynamodb.DeleteItemInput{TableName: &others, Key: row("pk")},
			answer: &dynamodb.DeleteItemOutput{}, received: &dynamodb.DeleteItemOutput{},
		},
		"placeholder of the same name": {
			call:   &dynamodb.GetItemInput{TableName: ours, ProjectionExpression: aws.String("pk, tags[0], #exchanged0"), ExpressionAttributeNames: map[string]string{"#exchanged0": "n"}},
			sent:   &dynamodb.GetItemInput{TableName: ours, ProjectionExpression: aws.String("#exchanged0x, tags[0], #exchanged0"), ExpressionAttributeNames: map[string]string{"#exchanged0x": "PK", "#exchanged0": "n"}},
			answer: &dynamodb.GetItemOutput{}, received: &dynamodb.GetItemOutput{},
		},
		"placeholder of the same name, of a key's name in a map": {
			call:   &dynamodb.GetItemInput{TableName: ours, ProjectionExpression: aws.String("pk, m.#exchanged0"), ExpressionAttributeNames: map[string]string{"#exchanged0": "pk"}},
			sent:   &dynamodb.GetItemInput{TableName: ours, ProjectionExpression: aws.String("#exchanged0x, m.#exchanged0"), ExpressionAttributeNames: map[string]string{"#exchanged0x": "PK", "#exchanged0": "pk"}},
			answer: &dynamodb.GetItemOutput{}, received: &dynamodb.GetItemOutput{},
		},
		"batch of reads": {
			call:     &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{arn: reads("pk", "n, pk"), "theirs": reads("pk", "pk")}},
			sent:     &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{arn: renamed, "theirs": reads("pk", "pk")}},
			answer:   &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{"ours": {row("PK")}, "theirs": {row("PK")}}, UnprocessedKeys: map[string]types.KeysAndAttributes{"ours": renamed}},
			received: &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{"ours": {row("pk")}, "theirs": {row("PK")}}, UnprocessedKeys: map[string]types.KeysAndAttributes{"ours": {Keys: reads("pk", "").Keys, ProjectionExpression: aws.String("n, #exchanged2"), ExpressionAttributeNames: map[string]string{"#exchanged2": "pk"}}}},
		},
		"batch of writes": {
			call:     &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"ours": requests("pk"), "theirs": requests("pk")}},
			sent:     &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{"ours": requests("PK"), "theirs": requests("pk")}},
			answer:   &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{"ours": requests("PK"), "theirs": requests("pk")}},
			received: &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{"ours": requests("pk"), "theirs": requests("pk")}},
		},
		"transaction of reads": {
			call:     &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{gets(theirs, "pk"), gets(ours, "pk")}},
			sent:     &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{gets(theirs, "pk"), gets(ours, "PK")}},
			answer:   &dynamodb.TransactGetItemsOutput{Responses: []types.ItemResponse{{Item: row("PK")}, {Item: row("PK")}}},
			received: &dynamodb.TransactGetItemsOutput{Responses: []types.ItemResponse{{Item: row("PK")}, {Item: row("pk")}}},
		},
		"transaction of writes": {
			call: &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{puts(theirs, "pk"), puts(ours, "pk"), {}}},
			sent: &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{puts(theirs, "pk"), puts(ours, "PK"), {}}},
			err:  canceled(row("PK"), row("PK"), nil), returned: canceled(row("PK"), row("pk"), nil),
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := Names{Items: "ours", ShardMap: arn + "-map", PartitionKey: "PK", SortKey: "and"}.renamer()
			require.NoError(t, err)
			tries := 0
			handler := middleware.InitializeHandlerFunc(func(_ context.Context, in middleware.InitializeInput) (out middleware.InitializeOutput, metadata middleware.Metadata, err error) {
				same(t, "sent", in.Parameters, c.sent)
				if tries++; tries == 1 {
					return out, metadata, errLost
				}
				return middleware.InitializeOutput{Result: c.answer}, metadata, c.err
			})
			if _, _, err := k.HandleInitialize(t.Context(), middleware.InitializeInput{Parameters: c.call}, handler); !errors.Is(err, errLost) {
				t.Error(err)
			}
			out, _, err := k.HandleInitialize(t.Context(), middleware.InitializeInput{Parameters: c.call}, handler)
			if err == nil {
				same(t, "received", out.Result, c.received)
			} else if same(t, "reasons", itemsOf(err), itemsOf(c.returned)); !errors.Is(err, c.err) {
				t.Errorf("error %v, want %v", err, c.err)
			}
		})
	}
}

// TestSeveralNames checks which names a client may have.
func TestSeveralNames(t *testing.T) {
	n := Names{Items: "a", ShardMap: "m", PartitionKey: "PK"}
	for name, c := range map[string]struct {
		other Names
		want  error
		list  int
	}{
		"the same":      {n, nil, 1},
		"other tables":  {Names{Items: "b", ShardMap: "n", PartitionKey: "PK"}, nil, 2},
		"a table twice": {Names{Items: "b", ShardMap: "m", PartitionKey: "PK"}, shard.ErrMisused, 1},
	} {
		var o dynamodb.Options
		n.RenameKeys(&o)
		c.other.RenameKeys(&o)
		stack := middleware.NewStack("x", nil)
		require.NoError(t, o.APIOptions[0](stack))
		if err := o.APIOptions[1](stack); !errors.Is(err, c.want) || len(stack.Initialize.List()) != c.list {
			t.Errorf("%s: %v, %d steps", name, err, len(stack.Initialize.List()))
		}
	}
}

// TestNumbersOfPaths checks that the number of an element is not taken for a key whose name has digits only.
func TestNumbersOfPaths(t *testing.T) {
	k, err := Names{ShardMap: "m", PartitionKey: "0"}.renamer()
	require.NoError(t, err)
	renamed := map[string]string{}
	if got := k.renameInExpression("SET tags[0] = :0, b = pk", nil, renamed); got != "SET tags[0] = :0, b = #exchanged0" || renamed["#exchanged0"] != "0" {
		t.Error(got, renamed)
	}
}
