package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// lateItems is the number of items that a program with a stale shard count writes.
var lateItems = lane.Runs(10, 20)

// staleMigration returns a migration from a table whose shard count has changed. A program with the old count has written
// lateItems items.
func staleMigration(t *testing.T, db *dynamodb.Client, inPlace bool, format shard.Format) *migrate.Migration {
	t.Helper()
	old := libtest.Orders(t, db, db, table.CalculatedSuffix{Time: table.SortTime("placed", "")}, 1)
	old.Shards = &libtest.Steps{History: shard.History{{Count: 2}, {At: libtest.Epoch, Count: 8}}}
	stale := *old // has the old count
	stale.Shards = &libtest.Steps{History: shard.History{{Count: 2}}}
	for i := range lateItems {
		if err := stale.Put(t.Context(), lateItem(i, 1), callTime); err != nil {
			t.Fatal(err)
		}
	}
	to := libtest.Orders(t, db, db, table.CalculatedSuffix{}, 11)
	if to.Format = format; inPlace {
		to.Name = old.Name
	}
	return &migrate.Migration{Client: db, From: old, To: to}
}

func lateItem(i int, n int64) table.Item {
	return table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(shard.Millis.Key(libtest.Epoch.Add(time.Second), "#", fmt.Sprint(i))), "n": libtest.Num(n)}
}

// inEachPlace runs check for a migration to another table, and for one to another format in the same table.
func inEachPlace(t *testing.T, check func(t *testing.T, m *migrate.Migration)) {
	db := enginetest.Client(t)
	for name, c := range map[string]struct {
		inPlace bool
		format  shard.Format
	}{"two tables": {}, "one table": {true, shard.HashShard}} {
		t.Run(name, func(t *testing.T) { check(t, staleMigration(t, db, c.inPlace, c.format)) })
	}
}

// checkItems checks that the migration reads each item once, with this n.
func checkItems(t *testing.T, m *migrate.Migration, n string) {
	t.Helper()
	count := 0
	for it, err := range m.Query(t.Context(), "acme", table.Span{Consistent: true}, callTime) {
		if count++; err != nil || libtest.Text(it["n"]) != n {
			t.Fatalf("phase %d: read %v, %v, want n = %s", m.Phase, it, err, n)
		}
	}
	if count != lateItems {
		t.Fatalf("phase %d: read %d items, want %d", m.Phase, count, lateItems)
	}
}

// checkEqual checks that Verify finds no difference after a Copy, and that Prune deletes nothing.
func checkEqual(t *testing.T, m *migrate.Migration) {
	t.Helper()
	for range 2 {
		if _, err := m.Copy(t.Context(), "acme", table.Span{}, callTime, nil); err != nil {
			t.Fatal(err)
		}
		if c, err := m.Verify(t.Context(), "acme", table.Span{}, callTime); err != nil || !c.Equal() {
			t.Fatalf("Verify after Copy = %+v, %v", c, err)
		}
		if done, err := m.Prune(t.Context(), "acme", table.Span{}, callTime, nil); err != nil || done.Changed != 0 {
			t.Fatalf("Prune = %+v, %v; want none changed", done, err)
		}
	}
}

// TestItemsOfStaleCountAreFound checks that reads, Copy and Drop find items on the write shard of an old count.
func TestItemsOfStaleCountAreFound(t *testing.T) {
	t.Parallel()
	inEachPlace(t, func(t *testing.T, m *migrate.Migration) {
		checkItems(t, m, "1")
		m.Phase = migrate.WriteBoth
		checkItems(t, m, "1")
		checkEqual(t, m)
		m.Phase = migrate.ReadNew
		checkItems(t, m, "1")
		m.Phase = migrate.WriteNew
		if done, err := m.Drop(t.Context(), "acme", table.Span{}, callTime, nil); err != nil || done.Kept != 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		checkItems(t, m, "1")
		old := *m
		old.Phase = migrate.WriteOld
		if n, err := old.Count(t.Context(), "acme", table.Span{}, callTime); err != nil || n != 0 {
			t.Fatalf("%d old items are left: %v", n, err)
		}
	})
}

// TestWritesOfItemsOfStaleCount checks that Update writes the item where it is stored, and Put by the current count. Delete
// removes it from all write shards.
func TestWritesOfItemsOfStaleCount(t *testing.T) {
	t.Parallel()
	inEachPlace(t, func(t *testing.T, m *migrate.Migration) {
		for _, m.Phase = range []migrate.Phase{migrate.WriteBoth, migrate.ReadNew} {
			for i := range lateItems {
				_, err := m.Update(t.Context(), lateItem(i, 0), &dynamodb.UpdateItemInput{
					UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
				}, callTime)
				if err != nil {
					t.Fatal(err)
				}
			}
			checkItems(t, m, fmt.Sprint(1+int(m.Phase)))
		}
		m.Phase = migrate.WriteBoth
		for i := range lateItems {
			if err := m.Put(t.Context(), lateItem(i, 7), callTime); err != nil {
				t.Fatal(err)
			}
		}
		for i := range lateItems {
			if it, err := m.Get(t.Context(), lateItem(i, 0), callTime); err != nil || libtest.Text(it["n"]) != "7" {
				t.Fatalf("Get after Put = %v, %v; want n = 7", it, err)
			}
		}
		checkEqual(t, m)
		for _, m.Phase = range []migrate.Phase{migrate.WriteBoth, migrate.ReadNew} {
			for i := range lateItems / 2 {
				key := lateItem(i+lateItems/2*int(m.Phase-migrate.WriteBoth), 0)
				if err := m.Delete(t.Context(), key, callTime); err != nil {
					t.Fatal(err)
				}
				for _, phase := range []migrate.Phase{migrate.WriteBoth, migrate.ReadNew} {
					reader := *m
					reader.Phase = phase
					if it, err := reader.Get(t.Context(), key, callTime); !errors.Is(err, shard.ErrNotFound) {
						t.Fatalf("phase %d, deleted in phase %d: Get = %v, %v; want ErrNotFound", phase, m.Phase, it, err)
					}
				}
			}
		}
	})
}

// TestCurrentCountTakesPrecedence checks that of two old items the one on the current count's write shard is copied, and
// that Drop deletes both.
func TestCurrentCountTakesPrecedence(t *testing.T) {
	t.Parallel()
	inEachPlace(t, func(t *testing.T, m *migrate.Migration) {
		for i := range lateItems {
			if err := m.From.Put(t.Context(), lateItem(i, 5), callTime); err != nil {
				t.Fatal(err)
			}
		}
		m.Phase = migrate.WriteBoth
		if _, err := m.Copy(t.Context(), "acme", table.Span{}, callTime, nil); err != nil {
			t.Fatal(err)
		}
		if c, err := m.Verify(t.Context(), "acme", table.Span{}, callTime); err != nil || !c.Equal() {
			t.Fatalf("%+v, %v", c, err)
		}
		m.Phase = migrate.WriteNew
		if done, err := m.Drop(t.Context(), "acme", table.Span{}, callTime, nil); err != nil || done.Kept != 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		checkItems(t, m, "5")
		left := map[string]bool{}
		for it, err := range m.From.Query(t.Context(), "acme", table.Span{}, callTime) {
			if left[libtest.Text(it["placed"])] = true; err != nil {
				t.Fatal(err)
			}
		}
		if len(left) > 0 {
			t.Fatalf("%d old items are left", len(left))
		}
	})
}

// putBeforeCopy is a client that calls put before its first transaction.
type putBeforeCopy struct {
	*dynamodb.Client
	put  func() error
	once sync.Once
}

func (p *putBeforeCopy) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	var err error
	p.once.Do(func() { err = p.put() })
	if err != nil {
		return nil, err
	}
	return p.Client.TransactWriteItems(ctx, in, opts...)
}

// TestPutDuringCopy checks that Copy overwrites no concurrent put, which writes another write shard than Copy has read.
func TestPutDuringCopy(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	for _, inPlace := range []bool{false, true} {
		m := staleMigration(t, db, inPlace, shard.HashShard)
		m.Phase = migrate.WriteBoth
		for i := range lateItems {
			if shard.Calculated(libtest.Text(lateItem(i, 1)["placed"]), 8) < 2 { // both counts may give the same write shard
				continue
			}
			copying := *m
			copying.Client = &putBeforeCopy{Client: db, put: func() error { return m.Put(t.Context(), lateItem(i, 9), callTime) }}
			sort := lateItem(i, 1)["placed"]
			if _, err := copying.Copy(t.Context(), "acme", table.Span{Low: sort, High: sort}, callTime, nil); err != nil {
				t.Fatal(err)
			}
			if it, err := m.To.Get(t.Context(), lateItem(i, 1), callTime); err != nil || libtest.Text(it["n"]) != "9" {
				t.Fatalf("the new item is %v, %v; want n = 9", it, err)
			}
		}
	}
}
