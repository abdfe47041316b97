package throttle_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/pkg/throttle"
)

// names returns the placeholders that an expression uses.
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

func updateOf(pk, expression string, v values) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName: aws.String(tableName), Key: keyOf(pk, "1"), UpdateExpression: &expression,
		ExpressionAttributeNames: names(expression), ExpressionAttributeValues: v,
	}
}

// dryIndex empties the bucket of the index's partition of the group hot. It returns keys of
// different partitions of the table: the first is in hot, the second in cold, the others are
// new.
func dryIndex(t *testing.T) (*bench, []string) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 20})
	if b.Partition("hot") == b.Partition("cold") {
		t.Fatal("hot and cold are on one partition")
	}
	keys := b.apart(t, 5)
	for _, item := range []values{
		itemOf(keys[0], "1", grouped("hot", "1")),
		itemOf(keys[1], "1", grouped("cold", "1")),
		itemOf(keys[4], "1", grouped("hot", "1")),
	} {
		if err := b.put(t, item); err != nil {
			t.Fatal(err)
		}
	}
	filler := itemOf(keys[4], "2", grouped("hot", "1"))
	filler["tag"] = s(strings.Repeat("x", 17*1024+900)) // 18 units, to make 20
	if err := b.put(t, filler); err != nil {
		t.Fatal(err)
	}
	return b, keys
}

func TestIndexPartition(t *testing.T) {
	type call = func(ctx context.Context, db *dynamodb.Client, keys []string) error
	put := func(key int, more values) call {
		return func(ctx context.Context, db *dynamodb.Client, keys []string) error {
			_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf(keys[key], "1", more)})
			return err
		}
	}
	update := func(key int, expression string, v values) call {
		return func(ctx context.Context, db *dynamodb.Client, keys []string) error {
			_, err := db.UpdateItem(ctx, updateOf(keys[key], expression, v))
			return err
		}
	}
	remove := func(key int) call {
		return func(ctx context.Context, db *dynamodb.Client, keys []string) error {
			_, err := db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: keyOf(keys[key], "1")})
			return err
		}
	}
	x := values{":x": s("new")}
	tests := []struct {
		name      string
		call      call
		throttled bool
	}{
		{"put of a new entry", put(2, grouped("hot", "9")), true},
		{"put elsewhere", put(2, grouped("cold", "9")), false},
		{"put of half a key", put(2, values{"group": s("hot")}), false},
		{"put of the same item", put(0, grouped("hot", "1")), false},
		{"put that changes what the index lacks", put(0, values{"group": s("hot"), "rank": n("1.0"), "other": s("x")}), false},
		{"put that changes the sort key", put(0, grouped("hot", "2")), true},
		{"put that leaves", put(0, nil), true},
		{"put that moves away", put(0, grouped("cold", "1")), true},
		{"put that moves in", put(1, grouped("hot", "1")), true},
		{"update outside the projection", update(0, "SET #x = :x", x), false},
		{"update of the projection", update(0, "SET #x = :x, #t = :x", x), true},
		{"update that computes the projection", update(0, "SET #t = if_not_exists(#t, :x)", x), true},
		{"update of the projection elsewhere", update(1, "SET #t = :x", x), false},
		{"update that leaves", update(0, "REMOVE #x, #g", nil), true},
		{"update that moves in", update(1, "SET #g = :h", values{":h": s("hot")}), true},
		{"update that computes the sort key", update(0, "ADD #r :x", values{":x": n("5")}), true},
		{"update that makes an entry", update(2, "SET #g = :h, #r = :r", values{":h": s("hot"), ":r": n("1")}), true},
		{"update that makes half a key", update(2, "SET #r = :r", values{":r": n("1")}), false},
		{"delete", remove(0), true},
		{"delete elsewhere", remove(1), false},
		{"delete of nothing", remove(3), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b, keys := dryIndex(t)
			before := b.image(t)
			err := test.call(t.Context(), b.db, keys)
			if !test.throttled {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := []string{"IndexWriteKeyRangeThroughputExceeded " + indexARN}
			if diff := cmp.Diff(want, throttled(t, err)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, b.image(t), ignoreUnexported); diff != "" {
				t.Errorf("a throttled write changed the table: %s", diff)
			}
		})
	}
}

func TestDryIndexInBatchAndTransaction(t *testing.T) {
	b, keys := dryIndex(t)
	puts := []types.WriteRequest{
		{PutRequest: &types.PutRequest{Item: itemOf(keys[2], "1", grouped("hot", "9"))}},
		{PutRequest: &types.PutRequest{Item: itemOf(keys[2], "2", grouped("cold", "9"))}},
		{DeleteRequest: &types.DeleteRequest{Key: keyOf(keys[0], "1")}},
	}
	out, err := b.db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{
		RequestItems: map[string][]types.WriteRequest{tableName: puts},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]types.WriteRequest{tableName: {puts[0], puts[2]}}
	if diff := cmp.Diff(want, out.UnprocessedItems, ignoreUnexported); diff != "" {
		t.Error(diff)
	}
	_, err = b.db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
		{Put: &types.Put{TableName: aws.String(tableName), Item: keyOf(keys[3], "1")}},
		{Delete: &types.Delete{TableName: aws.String(tableName), Key: keyOf(keys[0], "1")}},
	}})
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		t.Fatalf("got %v, want a TransactionCanceledException", err)
	}
	if diff := cmp.Diff([]string{"None", "ThrottlingError"}, codes(canceled)); diff != "" {
		t.Error(diff)
	}
}

func codes(e *types.TransactionCanceledException) []string {
	var all []string
	for _, r := range e.CancellationReasons {
		all = append(all, aws.ToString(r.Code))
	}
	return all
}
