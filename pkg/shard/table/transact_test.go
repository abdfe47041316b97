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

// TestTallyInTransaction checks that additions in a repeated transaction of package once apply once, and that an update
// creates an item that Get finds.
func TestTallyInTransaction(t *testing.T) {
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
		add, err := count.AddAllTransact(ctx, "orders", map[string]int64{"n": 3}, libtest.Later)
		all, err2 := count.AddAllTransact(ctx, "mail", map[string]int64{"opens": 2, "clicks": 1}, libtest.Later)
		return []shardmap.Write{add, all}, errors.Join(err, err2)
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

// TestDeletesRemoveCopiesFirst checks that an item on two write shards is read once, and that a delete removes the copy that
// reads don't return before the other.
func TestDeletesRemoveCopiesFirst(t *testing.T) {
	db := &memory{}
	orders := &table.Table{
		Client: db, Name: "orders", PartitionKey: "customer", SortKey: "placed",
		Shards: &libtest.Steps{History: shard.History{{At: libtest.Epoch.Add(-time.Second), Count: 8}}},
		Layout: table.CalculatedSuffix{Time: table.SortTime("placed", "")},
	}
	var key table.Item
	var home string
	for i := 0; len(db.items) < 6; i++ { // three items, each with a copy
		sort := shard.Millis.Key(libtest.Epoch, "#", fmt.Sprint(i))
		if home = shard.Hash.Join("acme", shard.Calculated(sort, 8)); home == "acme#0" {
			continue
		}
		key = table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(sort)}
		db.items = append(db.items, table.Item{"customer": libtest.Str("acme#0"), "placed": libtest.Str(sort)}, table.Item{"customer": libtest.Str(home), "placed": libtest.Str(sort), "id": libtest.Str("home")})
	}
	for i, want := range [][]string{{"home", "home", "home"}, {"home", "home"}} {
		if got := idsOf(t, orders, table.Span{}); !slices.Equal(got, want) {
			t.Errorf("after %d deletes: read %q, want %q", i, got, want)
		}
		if err := orders.Delete(t.Context(), key, libtest.Epoch); err != nil {
			t.Error(err)
		}
		if _, err := orders.Get(t.Context(), key, libtest.Epoch); !errors.Is(err, shard.ErrNotFound) {
			t.Errorf("Get returns %v, want ErrNotFound", err)
		}
	}
	if !slices.Equal(db.deleted, []string{"acme#0", home, "acme#0", home}) {
		t.Errorf("deletes from %v, want first acme#0 and last %s", db.deleted, home)
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
		_, err := orders.Update(t.Context(), libtest.Order(1), nil, libtest.Epoch)
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

// TestReadsByTheCurrentCount checks that pages of random write shards are read by the newest count.
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
		"a first page":      {table.Span{Limit: 2}, "[0 1] true 1"},
		"the next page":     {table.Span{Limit: 2, After: first.Next}, "[2 3] true 1"},
		"a consistent page": {table.Span{Limit: 2, Consistent: true}, "[0 1] true 1"},
		"a whole range":     {table.Span{Limit: 5}, "[0 1 2 3 4] false 1"},
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
}
