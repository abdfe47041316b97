package throttle_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/pkg/throttle"
)

func putRequests(items ...values) map[string][]types.WriteRequest {
	var requests []types.WriteRequest
	for _, item := range items {
		requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
	}
	return map[string][]types.WriteRequest{tableName: requests}
}

func TestPartialBatchWrite(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 3})
	keys := b.apart(t, 2)
	batch := func(items ...values) (map[string][]types.WriteRequest, error) {
		out, err := b.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: putRequests(items...)})
		if err != nil {
			return nil, err
		}
		return out.UnprocessedItems, nil
	}
	hot := []values{keyOf(keys[0], "1"), itemOf(keys[0], "2", sized(1.5)), keyOf(keys[0], "3"), keyOf(keys[0], "4")}
	left, err := batch(append(hot, keyOf(keys[1], "1"))...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(putRequests(hot[2:]...), left, ignoreUnexported); diff != "" {
		t.Error(diff)
	}
	if got := len(b.image(t)); got != 3 {
		t.Errorf("%d items were written, want 3", got)
	}
	_, err = batch(hot[2:]...)
	if diff := cmp.Diff([]string{"TableWriteKeyRangeThroughputExceeded " + tableARN}, throttled(t, err)); diff != "" {
		t.Error(diff)
	}
	want := throttle.OperationStats{Operation: "BatchWriteItem", WriteUnits: 4, ThrottledRequests: 1, ThrottledItems: 2}
	if diff := cmp.Diff([]throttle.OperationStats{want}, b.Stats().Operations); diff != "" {
		t.Error(diff)
	}
}

func TestBatchWriteOfTwoTables(t *testing.T) {
	other := onDemandTable()
	other.TableName = aws.String("other")
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 1}, onDemandTable(), other)
	if err := b.put(t, keyOf("a", "1")); err != nil {
		t.Fatal(err)
	}
	requests := putRequests(keyOf("a", "2"))
	requests["other"] = requests[tableName]
	out, err := b.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: requests})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(putRequests(keyOf("a", "2")), out.UnprocessedItems, ignoreUnexported); diff != "" {
		t.Error(diff)
	}
}

func TestPartialBatchGet(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 20, PartitionRCU: 2})
	keys := b.apart(t, 2)
	for _, item := range []values{itemOf(keys[0], "1", sized(6)), keyOf(keys[1], "1")} {
		if err := b.put(t, item); err != nil {
			t.Fatal(err)
		}
	}
	b.Reset()
	get := func(projection *string, wanted ...values) (*dynamodb.BatchGetItemOutput, error) {
		return b.db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			tableName: {Keys: wanted, ConsistentRead: aws.Bool(true), ProjectionExpression: projection},
		}})
	}
	hot := []values{keyOf(keys[0], "1"), keyOf(keys[0], "none"), keyOf(keys[0], "more")}
	out, err := get(aws.String("sk"), append(hot, keyOf(keys[1], "1"))...)
	if err != nil {
		t.Fatal(err)
	}
	want := types.KeysAndAttributes{Keys: hot[2:], ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("sk")}
	if diff := cmp.Diff(want, out.UnprocessedKeys[tableName], ignoreUnexported); diff != "" {
		t.Error(diff)
	}
	if got := len(out.Responses[tableName]); got != 2 {
		t.Errorf("%d items came back, want 2", got)
	}
	_, err = get(nil, hot...)
	if diff := cmp.Diff([]string{"TableReadKeyRangeThroughputExceeded " + tableARN}, throttled(t, err)); diff != "" {
		t.Error(diff)
	}
	// 6 KB, a missing item and a small one. A projection hides the sizes, so all share the cost.
	wantStats := throttle.OperationStats{Operation: "BatchGetItem", ReadUnits: 4, ThrottledRequests: 1, ThrottledItems: 1}
	if diff := cmp.Diff([]throttle.OperationStats{wantStats}, b.Stats().Operations); diff != "" {
		t.Error(diff)
	}
}

func TestTransactionPrice(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 20})
	keys := b.apart(t, 5)
	for i, kb := range []float64{2.5, 1.5, 0, 3.5} {
		if err := b.put(t, itemOf(keys[i], "1", sized(kb))); err != nil {
			t.Fatal(err)
		}
	}
	b.Reset()
	name := aws.String(tableName)
	grow := updateOf(keys[2], "SET #x = :x, #g = :x, #r = :r", values{":x": sized(1.2)["data"], ":r": n("1")})
	input := &dynamodb.TransactWriteItemsInput{
		ClientRequestToken: aws.String("once"),
		TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: name, Item: keyOf(keys[0], "1")}},      // 3 units before
			{Delete: &types.Delete{TableName: name, Key: keyOf(keys[1], "1")}}, // 2 before
			{Update: &types.Update{TableName: name, Key: grow.Key, UpdateExpression: grow.UpdateExpression, //
				ExpressionAttributeNames: grow.ExpressionAttributeNames, ExpressionAttributeValues: grow.ExpressionAttributeValues}}, // 3 after; local index 1 (or 2), global 2
			{ConditionCheck: &types.ConditionCheck{TableName: name, Key: keyOf(keys[3], "1"), ConditionExpression: aws.String("attribute_exists(pk)")}}, // 4
			{Put: &types.Put{TableName: name, Item: keyOf(keys[4], "1")}},                                                                               // 1
		},
	}
	out, err := b.db.TransactWriteItems(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	if out.ConsumedCapacity != nil {
		t.Error("the response has a ConsumedCapacity that was not asked for")
	}
	want := []throttle.SpaceStats{
		{Table: tableName, WriteUnits: 2*(3+2+3+4+1) + 1, Partitions: 64}, // an index is written once
		{Table: tableName, Index: byGroup, WriteUnits: 2, Partitions: 64},
	}
	if diff := cmp.Diff(want, b.Stats().Spaces); diff != "" {
		t.Error(diff)
	}
	b.Reset()
	if _, err := b.db.TransactWriteItems(t.Context(), input); err != nil {
		t.Fatal(err)
	}
	want = []throttle.SpaceStats{{Table: tableName, ReadUnits: 2 * 5, Partitions: 64}}
	if diff := cmp.Diff(want, b.Stats().Spaces); diff != "" {
		t.Errorf("the same token again: %s", diff)
	}
}

func TestFailedTransaction(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 4})
	if err := b.put(t, itemOf("a", "1", sized(2.5))); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	name := aws.String(tableName)
	transact := func(key values) []string {
		_, err := b.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: name, Item: keyOf("b", "1")}},
			{Update: &types.Update{TableName: name, Key: key, UpdateExpression: aws.String("SET n = :n"),
				ConditionExpression: aws.String("attribute_not_exists(pk)"), ExpressionAttributeValues: values{":n": n("1")}}},
		}})
		canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
		if !ok || canceled.ErrorMessage() == "" {
			t.Fatalf("got %v, want a TransactionCanceledException", err)
		}
		return codes(canceled)
	}
	if diff := cmp.Diff([]string{"None", "ConditionalCheckFailed"}, transact(keyOf("a", "1"))); diff != "" {
		t.Error(diff)
	}
	if got := b.Stats().WriteUnits; got != 2*(1+3) {
		t.Errorf("a failed condition cost %v units, want twice the items' 1 and 3", got)
	}
	if diff := cmp.Diff([]string{"None", "ThrottlingError"}, transact(keyOf("a", "1"))); diff != "" {
		t.Errorf("beyond the limit: %s", diff)
	}
}

func TestTransactGet(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 10, PartitionRCU: 6})
	keys := b.apart(t, 2)
	if err := b.put(t, itemOf(keys[0], "1", sized(6))); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	get := func(projection *string, wanted ...values) error {
		var gets []types.TransactGetItem
		for _, key := range wanted {
			gets = append(gets, types.TransactGetItem{Get: &types.Get{TableName: aws.String(tableName), Key: key, ProjectionExpression: projection}})
		}
		_, err := b.db.TransactGetItems(t.Context(), &dynamodb.TransactGetItemsInput{TransactItems: gets})
		return err
	}
	for _, projection := range []*string{nil, aws.String("sk")} {
		if err := get(projection, keyOf(keys[0], "1"), keyOf(keys[1], "none")); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.Stats().ReadUnits; got != 2*(4+2) {
		t.Errorf("charged %v units, want 12", got)
	}
	err := get(nil, keyOf(keys[1], "none"), keyOf(keys[0], "1"))
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		t.Fatalf("got %v, want a TransactionCanceledException", err)
	}
	if diff := cmp.Diff([]string{"None", "ThrottlingError"}, codes(canceled)); diff != "" {
		t.Error(diff)
	}
}
