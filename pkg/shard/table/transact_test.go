package table_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"
	"time"

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
	twice("add", func(ctx context.Context) ([]shardmap.Write, error) {
		add, err2 := count.AddTransact(ctx, "orders", 3, libtest.Later)
		all, err3 := count.AddAllTransact(ctx, "mail", map[string]int64{"opens": 2, "clicks": 1}, libtest.Later)
		return []shardmap.Write{add, all}, errors.Join(err2, err3)
	})
	sum, err := count.Sum(ctx, []string{"orders"}, libtest.Later)
	if err != nil || sum.Cmp(big.NewInt(3)) != 0 {
		t.Errorf("Sum = %v, %v; want 3", sum, err)
	}
	if sums, err := count.Sums(ctx, []string{"mail"}, []string{"opens", "clicks"}, libtest.Later); err != nil || fmt.Sprint(sums) != "map[clicks:1 opens:2]" {
		t.Errorf("Sums = %v, %v; want 2 opens and 1 click", sums, err)
	}
	version := func() string {
		it, err := orders.Get(ctx, key, libtest.Later)
		return fmt.Sprint(libtest.Text(it["v"]), " ", errors.Is(err, shard.ErrNotFound))
	}
	if _, err := orders.Update(ctx, key, &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD v :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
	}, libtest.Later); err != nil || version() != "1 false" {
		t.Errorf("after an update: version and ErrNotFound are %q, %v; want \"1 false\"", version(), err)
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
	atRandom := orders
	atRandom.Layout = table.RandomSuffix{}
	if err := atRandom.PutIf(ctx, second, fresh, libtest.Later); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("PutIf with a RandomSuffix: error %v, want ErrMisused", err)
	}
}

// memory is a table whose items are in memory, without conditions. It records the partition keys of deletes, and fails updates.
type memory struct {
	table.Client
	items   []table.Item
	deleted []string
	failed  error
}

// find returns the items with these keys; without a sort key, those of the partition.
func (m *memory) find(pk, sort types.AttributeValue) (list []table.Item) {
	for _, it := range m.items {
		if libtest.Text(it["customer"]) == libtest.Text(pk) && (sort == nil || libtest.Text(it["placed"]) == libtest.Text(sort)) {
			list = append(list, maps.Clone(it))
		}
	}
	return list
}

func (m *memory) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: append(m.find(in.Key["customer"], in.Key["placed"]), nil)[0]}, nil
}

func (m *memory) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	list := m.find(in.ExpressionAttributeValues[":pk"], nil)
	return &dynamodb.QueryOutput{Items: list, Count: int32(len(list))}, nil
}

func (m *memory) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	m.deleted = append(m.deleted, libtest.Text(in.Key["customer"]))
	m.items = slices.DeleteFunc(m.items, func(it table.Item) bool {
		return libtest.Text(it["customer"]) == libtest.Text(in.Key["customer"]) && libtest.Text(it["placed"]) == libtest.Text(in.Key["placed"])
	})
	return &dynamodb.DeleteItemOutput{}, nil
}

func (m *memory) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, m.failed
}

// TestDeletesRemoveCopiesFirst checks that an item on two write shards is read once, and that every delete removes the copy
// that reads don't return before the other.
func TestDeletesRemoveCopiesFirst(t *testing.T) {
	orders := &table.Table{
		Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: &libtest.Steps{History: shard.History{{At: libtest.Epoch.Add(-time.Second), Count: 8}}},
		Layout: table.CalculatedSuffix{Time: table.SortTime("placed", "")},
	}
	exists := table.Condition{Expression: "attribute_exists(customer)"}
	for name, remove := range map[string]func(*memory, table.Item) error{
		"Delete":   func(_ *memory, key table.Item) error { return orders.Delete(t.Context(), key, libtest.Epoch) },
		"DeleteIf": func(_ *memory, key table.Item) error { return orders.DeleteIf(t.Context(), key, exists, libtest.Epoch) },
	} {
		db := &memory{}
		orders.Client = db
		var key table.Item
		var home string
		for i := 0; len(db.items) < 6; i++ { // three items, each with a copy
			sort := shard.Millis.Key(libtest.Epoch, "#", fmt.Sprint(name, i))
			if home = shard.Hash.Join("acme", shard.Calculated(sort, 8)); home == "acme#0" {
				continue
			}
			key = table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(sort)}
			db.items = append(db.items, table.Item{"customer": libtest.Str("acme#0"), "placed": libtest.Str(sort)}, table.Item{"customer": libtest.Str(home), "placed": libtest.Str(sort), "id": libtest.Str("home")})
		}
		check := func(want ...string) {
			t.Helper()
			n, err := orders.Count(t.Context(), "acme", table.Span{}, libtest.Epoch)
			if got := idsOf(t, orders, table.Span{}); err != nil || n != len(want) || !slices.Equal(got, want) {
				t.Errorf("%s: counted %d, %v, and read %q, want %q", name, n, err, got, want)
			}
		}
		check("home", "home", "home")
		if err := remove(db, key); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := orders.Get(t.Context(), key, libtest.Epoch); !errors.Is(err, shard.ErrNotFound) {
			t.Errorf("%s: Get returns %v, want ErrNotFound", name, err)
		}
		if !slices.Equal(db.deleted, []string{"acme#0", home}) {
			t.Errorf("%s deletes from %v, want first acme#0 and last %s", name, db.deleted, home)
		}
		check("home", "home")
		if err := remove(db, key); err != nil || db.deleted[len(db.deleted)-1] != home {
			t.Errorf("%s of an absent item deletes from %v, %v; want last %s", name, db.deleted, err, home)
		}
	}
}

// TestUpdatesOfAnotherItem checks that a failed condition is ErrMisused only if another item is at the place.
func TestUpdatesOfAnotherItem(t *testing.T) {
	for there, misused := range map[string]bool{"": false, "order-1": false, "order-2": true} {
		failed := &types.ConditionalCheckFailedException{}
		if there != "" {
			failed.Item = table.Item{"id": libtest.Str(there)}
		}
		orders := &table.Table{Client: &memory{failed: failed}, Name: "orders", PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(2), Layout: table.CalculatedSuffix{By: "id"}}
		_, err := orders.Update(t.Context(), libtest.Order(1), &dynamodb.UpdateItemInput{}, libtest.Epoch)
		if found, ok := errors.AsType[*types.ConditionalCheckFailedException](err); errors.Is(err, shard.ErrMisused) != misused || !ok || found.Item != nil {
			t.Errorf("with item %q there: %v, want ErrMisused: %t", there, err, misused)
		}
		if _, err := orders.Update(t.Context(), libtest.Order(1), &dynamodb.UpdateItemInput{TableName: aws.String("x")}, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("with a table name: %v, want ErrMisused", err)
		}
	}
}

// behind is a view of a shard map that lacks the newest count, 2. It counts reads of the map itself.
type behind struct {
	version int64 // that the view has
	read    int
	err     error
}

func (b *behind) Lookup(_ context.Context, key string, _ time.Time) (shardmap.Entry, error) {
	return shardmap.Entry{Key: key, Version: b.version}, nil
}

func (b *behind) Current(_ context.Context, key string) (shardmap.Entry, error) {
	b.read++
	return shardmap.Entry{Key: key, Version: 1, Max: 2, History: shard.History{{At: libtest.Epoch, Count: 2}}}, b.err
}

// TestReadsByTheCurrentCount checks which reads of random write shards need the newest count: consistent ones, those after a
// cursor, and counts. A first page that is not the last is read again.
func TestReadsByTheCurrentCount(t *testing.T) {
	counts, db := &behind{}, &memory{}
	logs := &table.Table{Client: db, Name: "logs", PartitionKey: "customer", SortKey: "placed", Shards: counts, Layout: table.RandomSuffix{}}
	for n, key := range []string{"acme#0", "acme#1", "acme#0", "acme#0", "acme#1"} {
		db.items = append(db.items, table.Item{"customer": libtest.Str(key), "placed": libtest.Str(fmt.Sprint(n)), "id": libtest.Str(fmt.Sprint(n))})
	}
	first, err := logs.Page(t.Context(), "acme", table.Span{Limit: 2}, libtest.Epoch)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		span table.Span
		want string // items, then whether there is a next page, and reads of the map
	}{
		"a first page":      {table.Span{Limit: 2}, "[0 1] true 2"},
		"the next page":     {table.Span{Limit: 2, After: first.Next}, "[2 3] true 1"},
		"a consistent page": {table.Span{Limit: 2, Consistent: true}, "[0 1] true 1"},
		"a whole range":     {table.Span{Limit: 5}, "[0 2 3] false 0"},
		"consistent, whole": {table.Span{Consistent: true}, "[0 1 2 3 4] false 1"},
	} {
		counts.read = 0
		page, err := logs.Page(t.Context(), "acme", c.span, libtest.Epoch)
		var ids []string
		for _, it := range page.Items {
			ids = append(ids, libtest.Text(it["id"]))
		}
		if got := fmt.Sprint(ids, " ", page.Next != "", " ", counts.read); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", what, got, err, c.want)
		}
	}
	counts.read, counts.version = 0, 1
	if page, err := logs.Page(t.Context(), "acme", table.Span{Limit: 2}, libtest.Epoch); err != nil || counts.read != 1 || len(page.Items) != 2 {
		t.Errorf("with a view that is not behind: %+v, %v, after %d reads of the map", page, err, counts.read)
	}
	counts.err = shard.ErrStale
	if page, err := logs.Page(t.Context(), "acme", table.Span{Limit: 2}, libtest.Epoch); !errors.Is(err, shard.ErrStale) {
		t.Errorf("without the map: %+v, %v", page, err)
	}
	counts.err = nil
	if n, err := logs.Count(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || n != 5 {
		t.Errorf("counted %d, %v; want 5", n, err)
	}
}
