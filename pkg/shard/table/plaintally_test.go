package table_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// touches records the partition keys that a Tally writes and reads.
type touches struct {
	*dynamodb.Client
	keys []string
}

func (c *touches) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	c.keys = append(c.keys, "add "+libtest.Text(in.Key["customer"]))
	return c.Client.UpdateItem(ctx, in, o...)
}

func (c *touches) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	for _, list := range in.RequestItems {
		for _, key := range list.Keys {
			c.keys = append(c.keys, "read "+libtest.Text(key["customer"]))
		}
	}
	return c.Client.BatchGetItem(ctx, in, o...)
}

// TestAdoptedTally adopts a counter that another program created and still increments, and grows it.
func TestAdoptedTally(t *testing.T) {
	t.Parallel()
	d := libtest.Deploy(t)
	client, listener := &touches{Client: d.Client}, &libtest.Listener{}
	changer := d.Changer(shardmap.ChangerOptions{})
	tally := table.Tally{
		Client: client, Table: libtest.Theirs(t, d.Client, "S"), PartitionKey: "customer", SortKey: "placed", Sort: libtest.Str("total"),
		Value: "views", Format: shard.HashShard, Shards: changer, PlainFirst: true, Observer: listener,
	}
	now, want := libtest.Later, int64(0)
	plainly := func(name string, delta int64) {
		t.Helper()
		_, err := d.Client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &tally.Table, Key: table.Item{"customer": libtest.Str(name), "placed": libtest.Str("total")},
			UpdateExpression: aws.String("ADD #views :delta"), ExpressionAttributeNames: map[string]string{"#views": "views"},
			ExpressionAttributeValues: table.Item{":delta": libtest.Num(delta)},
		})
		if err != nil {
			t.Fatal(err)
		}
		want += delta
	}
	add := func() {
		t.Helper()
		if err := tally.Add(t.Context(), "home", 2, now); err != nil {
			t.Fatal(err)
		}
		want += 2
	}
	sum := func() {
		t.Helper()
		if n, err := tally.Sum(t.Context(), []string{"home"}, now); err != nil || n.Int64() != want {
			t.Errorf("Sum = %v, %v; want %d", n, err, want)
		}
	}
	plainly("home", 100)
	add()
	sum()
	if want := []string{"add home", "read home"}; !slices.Equal(client.keys, want) {
		t.Errorf("with one write shard: %q, want %q", client.keys, want)
	}
	plainly("home#SHARD_3", 0)
	clear := listener.Attempts[0].CheckUnused
	taken, is := errors.AsType[*shard.KeyError](clear(t.Context(), 1, 150))
	if !is || taken.Key != "home#SHARD_3" || clear(t.Context(), 1, 3) != nil || clear(t.Context(), 4, 150) != nil {
		t.Errorf("CheckUnused reports %v, want only home#SHARD_3", taken)
	}
	if _, err := changer.Pin(t.Context(), "home", 4, libtest.Note, now); err != nil {
		t.Fatal(err)
	}
	now, client.keys = now.Add(10*time.Second), nil
	for range 60 {
		add()
	}
	plainly("home", 7)
	sum()
	slices.Sort(client.keys)
	keys := slices.Compact(client.keys)
	if want := []string{"add home", "add home#SHARD_1", "add home#SHARD_2", "add home#SHARD_3", "read home", "read home#SHARD_1", "read home#SHARD_2", "read home#SHARD_3"}; !slices.Equal(keys, want) {
		t.Errorf("with four write shards: %q, want %q", keys, want)
	}
	tally.Shards = unreadable{}
	for range 9 {
		add()
	}
	if _, err := tally.Sum(t.Context(), []string{"home"}, now); !errors.Is(err, shard.ErrStale) {
		t.Errorf("Sum without the map: error %v, want ErrStale", err)
	}
	tally.Shards = changer
	sum()
}

// TestInvalidPlainTalliesAreRejected checks that PlainFirst rejects formats, first numbers and names that are ambiguous.
func TestInvalidPlainTalliesAreRejected(t *testing.T) {
	good := table.Tally{Client: &full{}, Table: "t", PartitionKey: "customer", Value: "n", Format: shard.HashShard, Shards: table.Fixed(3), PlainFirst: true}
	for what, spoil := range map[string]func(*table.Tally){
		"no format": func(c *table.Tally) { c.Format = "" }, "first 1": func(c *table.Tally) { c.First = 1 },
	} {
		bad := good
		spoil(&bad)
		if err := bad.Add(t.Context(), "home", 1, libtest.Epoch); !errors.Is(err, shard.ErrMisused) || !strings.Contains(err.Error(), "PlainFirst") {
			t.Errorf("%s: error %v, want ErrMisused about PlainFirst", what, err)
		}
	}
	one := map[string]int64{"n": 1}
	for _, name := range []string{"home#SHARD_1", strings.Repeat("x", 2040), ""} {
		_, sumErr := good.Sum(t.Context(), []string{"home", name}, libtest.Epoch)
		_, transactErr := good.AddAllTransact(t.Context(), name, one, libtest.Epoch)
		for call, err := range map[string]error{"add": good.Add(t.Context(), name, 1, libtest.Epoch), "sum": sumErr, "transact": transactErr} {
			if !errors.Is(err, shard.ErrMisused) {
				t.Errorf("%s of %.20q: error %v, want ErrMisused", call, name, err)
			}
		}
	}
	for sortKey, want := range map[string]table.Item{"": {"customer": libtest.Str("home")}, "placed": {"customer": libtest.Str("home"), "placed": libtest.Str("total")}} {
		single := good
		if single.Shards = table.Fixed(1); sortKey != "" {
			single.SortKey, single.Sort = sortKey, libtest.Str("total")
		}
		if w, err := single.AddAllTransact(t.Context(), "home", one, libtest.Epoch); err != nil || !maps.EqualFunc(w.Action.Update.Key, want, func(a, b types.AttributeValue) bool { return libtest.Text(a) == libtest.Text(b) }) {
			t.Errorf("with the sort key %q: %v, %v", sortKey, w.Action.Update, err)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	add, err := good.AddAllTransact(t.Context(), "home", one, libtest.Epoch)
	if err != nil || add.Attempt.CheckUnused(canceled, 1, 9) == nil {
		t.Errorf("AddAllTransact: %v, or CheckUnused passes without a read", err)
	}
}

// TestInvalidInputIsNotObserved checks that an observer gets no attempt of invalid requests. They say nothing about the
// write shard's partition.
func TestInvalidInputIsNotObserved(t *testing.T) {
	t.Parallel()
	d, ctx := libtest.Deploy(t), libtest.Within(t)
	listener := &libtest.Listener{}
	orders := table.Table{
		Client: d.Client, Name: libtest.Theirs(t, d.Client, "S"), PartitionKey: "customer", SortKey: "placed",
		Shards: table.Fixed(2), Layout: table.CalculatedSuffix{}, Observer: listener,
	}
	tally := table.Tally{
		Client: d.Client, Table: orders.Name, PartitionKey: "customer", SortKey: "placed", Sort: libtest.Num(1), Value: "n", Shards: table.Fixed(2), Observer: listener,
	}
	key := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("1")}
	big := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("1"), "text": libtest.Str(strings.Repeat("x", 401<<10))}
	update := func(in *dynamodb.UpdateItemInput) error {
		_, err := orders.Update(ctx, key, in, libtest.Later)
		return err
	}
	for what, call := range map[string]func() error{
		"a table name": func() error {
			return update(&dynamodb.UpdateItemInput{TableName: &orders.Name, UpdateExpression: aws.String("SET n = m")})
		},
		"an expression": func() error { return update(&dynamodb.UpdateItemInput{UpdateExpression: aws.String("SET")}) },
		"a size":        func() error { return orders.Put(ctx, big, libtest.Later) },
		"a tally's key": func() error { return tally.Add(ctx, "home", 1, libtest.Later) },
	} {
		if err := call(); err == nil || errors.Is(err, shard.ErrUnavailable) || listener.All > 0 {
			t.Errorf("%s: %d attempts observed, %v", what, listener.All, err)
			listener.All = 0
		}
	}
	if err := errors.Join(orders.Put(ctx, key, libtest.Later), update(&dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("SET n = :n"), ExpressionAttributeValues: table.Item{":n": libtest.Num(1)},
	})); err != nil || listener.All != 2 {
		t.Errorf("valid input: %d attempts observed, %v; want 2", listener.All, err)
	}
}
