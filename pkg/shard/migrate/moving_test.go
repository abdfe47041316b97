package migrate_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// between is a client that calls moves once, before its second GetItem or its first write.
type between struct {
	*dynamodb.Client
	reads int
	moves func()
}

func (b *between) move() {
	if moves := b.moves; moves != nil {
		b.moves = nil
		moves()
	}
}

func (b *between) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if b.reads++; b.reads == 2 {
		b.move()
	}
	return b.Client.GetItem(ctx, in, o...)
}

func (b *between) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	b.move()
	return b.Client.PutItem(ctx, in, o...)
}

func (b *between) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	b.move()
	return b.Client.UpdateItem(ctx, in, o...)
}

func (b *between) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	b.move()
	return b.Client.DeleteItem(ctx, in, o...)
}

// TestCallsFindMovedItem checks that each call finds an item that is moved while the call looks for it.
func TestCallsFindMovedItem(t *testing.T) {
	there := table.Condition{Expression: "attribute_exists(customer)"}
	for name, c := range map[string]struct {
		reads int // 0 moves the item before the second read, 2 before the first write
		call  func(u *undoing, orders *table.Table, key table.Item) error
		want  int // the stored n; 0 for no item, 1 for the old n
	}{
		"Get": {0, func(u *undoing, orders *table.Table, key table.Item) error {
			_, err := orders.Get(u.t.Context(), key, u.at())
			return err
		}, 1},
		"Update": {2, func(u *undoing, orders *table.Table, key table.Item) error {
			in := &dynamodb.UpdateItemInput{UpdateExpression: aws.String("SET n = :n"), ExpressionAttributeValues: table.Item{":n": libtest.Num(2)}}
			_, err := orders.Update(u.t.Context(), key, in, u.at())
			return err
		}, 2},
		"PutIf": {2, func(u *undoing, orders *table.Table, key table.Item) error {
			return orders.PutIf(u.t.Context(), u.order(libtest.Text(key["placed"]), 3), there, u.at())
		}, 3},
		"DeleteIf": {2, func(u *undoing, orders *table.Table, key table.Item) error {
			return orders.DeleteIf(u.t.Context(), key, there, u.at())
		}, 0},
		"Delete": {2, func(u *undoing, orders *table.Table, key table.Item) error {
			return orders.Delete(u.t.Context(), key, u.at())
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUndoing(t, 7, table.CalculatedSuffix{Time: table.SortTime("placed", shard.Millis)})
			u.orders.Client = u.db
			u.grow(4)
			undo := migrate.Undo{Client: u.db, Table: u.orders, Changer: u.changer}
			for range 2 {
				done, err := undo.Step(t.Context(), "acme", u.at())
				if err != nil {
					t.Fatal(err)
				}
				u.set(done.Wait)
			}
			sort := ""
			for pk, items := range u.stored() {
				if pk != "acme" {
					sort = slices.Min(slices.Collect(maps.Keys(items)))
				}
			}
			key, orders := u.order(sort, 0), *u.orders
			delete(key, "n")
			was := u.items[sort]
			moved := false
			orders.Client = &between{Client: u.db, reads: -c.reads * 10, moves: func() {
				if done, err := undo.Step(t.Context(), "acme", u.at()); err != nil || !done.Wait.IsZero() || done.Moved == 0 {
					t.Errorf("%+v, %v", done, err)
				}
				moved = true
			}}
			if err := c.call(u, &orders, key); err != nil || !moved {
				t.Errorf("error %v, moved: %t", err, moved)
			}
			want := c.want
			if want == 1 {
				want = was
			}
			stored := u.stored()
			if len(stored) != 1 || stored["acme"][sort] != want {
				t.Errorf("keys %v, n = %d under the plain key, want %d", slices.Sorted(maps.Keys(stored)), stored["acme"][sort], want)
			}
		})
	}
}

// TestUndoKeepsOtherItems checks that an undo overwrites no item that has the plain key and a moved item's sort key. The
// error names the item that stays on its write shard.
func TestUndoKeepsOtherItems(t *testing.T) {
	u := newUndoing(t, 7, table.RandomSuffix{})
	u.orders.Client = u.db
	u.grow(4)
	var sort string
	for pk, items := range u.stored() {
		if pk != "acme" {
			sort = slices.Min(slices.Collect(maps.Keys(items)))
		}
	}
	other := u.order(sort, 1_000_000)
	if _, err := u.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &u.orders.Name, Item: other}); err != nil {
		t.Fatal(err)
	}
	undo := migrate.Undo{Client: u.db, Table: u.orders, Changer: u.changer}
	for {
		done, err := undo.Step(t.Context(), "acme", u.at())
		if err != nil {
			if !errors.Is(err, shard.ErrMisused) || !strings.Contains(err.Error(), sort+" under acme#SHARD_") {
				t.Errorf("error %v, want ErrMisused that names the item", err)
			}
			break
		}
		if done.Wait.IsZero() {
			t.Fatal("Undo reports that it is done, want an error")
		}
		u.set(done.Wait)
	}
	stored := u.stored()
	if len(stored) != 2 || len(stored["acme"]) != 100 || stored["acme"][sort] != 1_000_000 {
		t.Errorf("keys %v, %d items under the plain key", slices.Sorted(maps.Keys(stored)), len(stored["acme"]))
	}
	buckets := *u.orders
	buckets.Layout = table.TimeBuckets{Bucket: shard.Day}
	if _, err := (&migrate.Undo{Client: u.db, Table: &buckets, Changer: u.changer}).Step(t.Context(), "acme", u.at()); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("Undo of time buckets: error %v, want ErrMisused", err)
	}
}
