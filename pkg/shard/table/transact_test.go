package table_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestTransactionsAndConditions checks that writes in a repeated transaction of package once apply once, and that PutIf
// and DeleteIf apply only if their condition holds.
func TestTransactionsAndConditions(t *testing.T) {
	t.Parallel()
	d, ctx := libtest.Deploy(t), libtest.Within(t)
	orders := table.Table{
		Client: d.Client, Name: libtest.Theirs(t, d.Client, "S"), PartitionKey: "customer", SortKey: "placed",
		Shards: table.Fixed(10), Layout: table.CalculatedSuffix{By: "id"},
	}
	count := table.Tally{
		Client: d.Client, Table: orders.Name, PartitionKey: "customer", SortKey: "placed", Sort: libtest.Str("-"), Value: "n", Shards: table.Fixed(4),
	}
	applier := once.New(d.Client, d.Names.Items, once.Options{})
	key := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("1#a"), "id": libtest.Str("a")}
	twice := func(call string, build func(context.Context) ([]shardmap.Write, error)) {
		t.Helper()
		for range 2 {
			if _, err := applier.Do(ctx, once.Call{Key: call}, libtest.Later, build); err != nil {
				t.Fatal(call, err)
			}
		}
	}
	twice("put", func(ctx context.Context) ([]shardmap.Write, error) {
		put, err1 := orders.PutTransact(ctx, key, libtest.Later)
		add, err2 := count.AddTransact(ctx, "orders", 3, libtest.Later)
		return []shardmap.Write{put, add}, errors.Join(err1, err2)
	})
	twice("update", func(ctx context.Context) ([]shardmap.Write, error) {
		w, err := orders.UpdateTransact(ctx, key, &dynamodb.UpdateItemInput{
			UpdateExpression: aws.String("ADD v :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
		}, libtest.Later)
		return []shardmap.Write{w}, err
	})
	sum, err := count.Sum(ctx, []string{"orders"}, libtest.Later)
	if err != nil || sum.Cmp(big.NewInt(3)) != 0 {
		t.Errorf("Sum = %v, %v; want 3", sum, err)
	}
	version := func() string {
		it, err := orders.Get(ctx, key, libtest.Later)
		return fmt.Sprint(libtest.Text(it["v"]), " ", errors.Is(err, shard.ErrNotFound))
	}
	if got := version(); got != "1 false" {
		t.Errorf("after one update: version and ErrNotFound are %q, want \"1 false\"", got)
	}

	fresh, isTwo := table.Condition{Expression: "attribute_not_exists(customer)"}, table.Condition{
		Expression: "#v = :v", Names: map[string]string{"#v": "v"}, Values: table.Item{":v": libtest.Num(2)},
	}
	isOne := isTwo
	isOne.Values = table.Item{":v": libtest.Num(1)}
	second := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("1#a"), "id": libtest.Str("a"), "v": libtest.Num(2)}
	for _, c := range []struct {
		what  string
		write func() error
		holds bool
		want  string
	}{
		{"a put of a new item", func() error { return orders.PutIf(ctx, second, fresh, libtest.Later) }, false, "1 false"},
		{"a delete of version 2", func() error { return orders.DeleteIf(ctx, key, isTwo, libtest.Later) }, false, "1 false"},
		{"a put over version 1", func() error { return orders.PutIf(ctx, second, isOne, libtest.Later) }, true, "2 false"},
		{"a delete of version 2", func() error { return orders.DeleteIf(ctx, key, isTwo, libtest.Later) }, true, " true"},
		{"a put of a new item", func() error { return orders.PutIf(ctx, second, fresh, libtest.Later) }, true, "2 false"},
	} {
		err := c.write()
		_, failed := errors.AsType[*types.ConditionalCheckFailedException](err)
		if got := version(); failed == c.holds || !failed && err != nil || got != c.want {
			t.Errorf("%s: %v, then version and ErrNotFound are %q, want %q", c.what, err, got, c.want)
		}
	}
	twice("delete", func(ctx context.Context) ([]shardmap.Write, error) {
		w, err := orders.DeleteTransact(ctx, key, libtest.Later)
		return []shardmap.Write{w}, err
	})
	if got := version(); got != " true" {
		t.Errorf("after the delete: version and ErrNotFound are %q, want \" true\"", got)
	}
	atRandom := orders
	atRandom.Layout = table.RandomSuffix{}
	if err := atRandom.PutIf(ctx, second, fresh, libtest.Later); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("PutIf with a RandomSuffix: error %v, want ErrMisused", err)
	}
}
