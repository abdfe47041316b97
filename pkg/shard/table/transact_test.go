package table_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/enginetest"
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

// deletes is a client that records the partition keys of its deletes.
type deletes struct {
	*dynamodb.Client
	keys []string
}

func (d *deletes) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	d.keys = append(d.keys, libtest.Text(in.Key["customer"]))
	return d.Client.DeleteItem(ctx, in, o...)
}

// TestDeletesRemoveCopiesFirst checks that every delete of an item that is on two write shards removes the copy that reads
// don't return before the other.
func TestDeletesRemoveCopiesFirst(t *testing.T) {
	t.Parallel()
	db := &deletes{Client: enginetest.Client(t)}
	orders := &table.Table{
		Client: db, Name: libtest.Theirs(t, db.Client, "S"), PartitionKey: "customer", SortKey: "placed",
		Shards: &libtest.Steps{History: shard.History{{At: libtest.Epoch.Add(-time.Second), Count: 8}}},
		Layout: table.CalculatedSuffix{Time: table.SortTime("placed", "")},
	}
	exists := table.Condition{Expression: "attribute_exists(customer)"}
	for name, remove := range map[string]func(table.Item) error{
		"Delete":   func(key table.Item) error { return orders.Delete(t.Context(), key, libtest.Epoch) },
		"DeleteIf": func(key table.Item) error { return orders.DeleteIf(t.Context(), key, exists, libtest.Epoch) },
		"DeleteTransact": func(key table.Item) error {
			w, err := orders.DeleteTransact(t.Context(), key, libtest.Epoch)
			if err == nil {
				_, err = db.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{w.Action}})
			}
			return err
		},
	} {
		sort := ""
		for i := 0; sort == "" || shard.Calculated(sort, 8) == 0; i++ {
			sort = shard.Millis.Key(libtest.Epoch, "#", fmt.Sprint(name, i))
		}
		key := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(sort)}
		home := shard.Hash.Join("acme", shard.Calculated(sort, 8))
		for _, pk := range []string{"acme#0", home} {
			enginetest.Put(t, db.Client, orders.Name, table.Item{"customer": libtest.Str(pk), "placed": libtest.Str(sort)})
		}
		db.keys = nil
		if err := remove(key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := orders.Get(t.Context(), key, libtest.Epoch); !errors.Is(err, shard.ErrNotFound) {
			t.Errorf("%s: Get returns %v, want ErrNotFound", name, err)
		}
		if db.keys[0] != "acme#0" || len(db.keys) > 1 && db.keys[1] != home {
			t.Errorf("%s deletes from %v, want first acme#0 and last %s", name, db.keys, home)
		}
	}
}
