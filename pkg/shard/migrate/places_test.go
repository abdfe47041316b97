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

// belated is the number of items at the places of the count before the change.
var belated = lane.Runs(10, 20)

// later is the time of these calls, after all items' times.
var later = libtest.Epoch.Add(time.Hour)

// moved is a migration from a table whose count has changed. It has items of just after the
// change at the places of the count before.
func moved(t *testing.T, db *dynamodb.Client, inPlace bool, format shard.Format) *migrate.Migration {
	t.Helper()
	old := libtest.Orders(t, db, db, table.CalculatedSuffix{Time: table.SortTime("placed", "")}, 1)
	old.Shards = &libtest.Steps{History: shard.History{{Count: 2}, {At: libtest.Epoch, Count: 8}}}
	late := *old // a program that has not seen the change yet
	late.Shards = &libtest.Steps{History: shard.History{{Count: 2}}}
	for i := range belated {
		if err := late.Put(t.Context(), afterwards(i, 1), later); err != nil {
			t.Fatal(err)
		}
	}
	to := libtest.Orders(t, db, db, table.CalculatedSuffix{}, 11)
	if to.Format = format; inPlace {
		to.Name = old.Name
	}
	return &migrate.Migration{Client: db, From: old, To: to}
}

func afterwards(i int, n int64) table.Item {
	return table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(shard.Millis.Key(libtest.Epoch.Add(time.Second), "#", fmt.Sprint(i))), "n": libtest.Num(n)}
}

// places are the three ways in which new items may be beside old ones.
func places(t *testing.T, check func(t *testing.T, m *migrate.Migration)) {
	db := enginetest.Client(t)
	for name, c := range map[string]struct {
		inPlace bool
		format  shard.Format
	}{"two tables": {}, "one table": {true, shard.HashShard}, "one table and format": {true, ""}} {
		t.Run(name, func(t *testing.T) { check(t, moved(t, db, c.inPlace, c.format)) })
	}
}

// is checks that the migration reads all items with this value.
func is(t *testing.T, m *migrate.Migration, n string) {
	t.Helper()
	count := 0
	for it, err := range m.Query(t.Context(), "acme", table.Span{Consistent: true}, later) {
		if count++; err != nil || libtest.Text(it["n"]) != n {
			t.Fatalf("phase %d: %v, %v, want %s", m.Phase, it, err, n)
		}
	}
	if count != belated {
		t.Fatalf("phase %d: %d items", m.Phase, count)
	}
}

// same checks that a copy and a comparison find no fault, and that a pruning deletes nothing.
func same(t *testing.T, m *migrate.Migration) {
	t.Helper()
	for range 2 {
		if _, err := m.Copy(t.Context(), "acme", table.Span{}, later, nil); err != nil {
			t.Fatal(err)
		}
		if c, err := m.Verify(t.Context(), "acme", table.Span{}, later); err != nil || !c.Equal() {
			t.Fatalf("%+v, %v", c, err)
		}
		if done, err := m.Prune(t.Context(), "acme", table.Span{}, later, nil); err != nil || done.Changed != 0 {
			t.Fatalf("pruned: %+v, %v", done, err)
		}
	}
}

// TestOldItemsOnAnotherPlace checks that an old item at another of its places, where a look-up
// finds it, is read, copied and dropped.
func TestOldItemsOnAnotherPlace(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, m *migrate.Migration) {
		is(t, m, "1")
		m.Phase = migrate.WriteBoth
		is(t, m, "1")
		same(t, m)
		m.Phase = migrate.ReadNew
		is(t, m, "1")
		m.Phase = migrate.WriteNew
		if done, err := m.Drop(t.Context(), "acme", table.Span{}, later, nil); err != nil || done.Kept != 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		is(t, m, "1")
		old := *m
		old.Phase = migrate.WriteOld
		if n, err := old.Count(t.Context(), "acme", table.Span{}, later); m.From.Name != m.To.Name && (err != nil || n != 0) {
			t.Fatalf("%d old ones are left, %v", n, err)
		}
	})
}

// TestWritesToAnotherPlace checks that an update writes the item's place and a put its first
// place. A delete removes it from all places.
func TestWritesToAnotherPlace(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, m *migrate.Migration) {
		for _, m.Phase = range []migrate.Phase{migrate.WriteBoth, migrate.ReadNew} {
			for i := range belated {
				err := m.Update(t.Context(), afterwards(i, 0), &dynamodb.UpdateItemInput{
					UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
				}, later)
				if err != nil {
					t.Fatal(err)
				}
			}
			is(t, m, fmt.Sprint(1+int(m.Phase)))
		}
		m.Phase = migrate.WriteBoth
		for i := range belated {
			if err := m.Put(t.Context(), afterwards(i, 7), later); err != nil {
				t.Fatal(err)
			}
		}
		for i := range belated {
			if it, err := m.Get(t.Context(), afterwards(i, 0), later); err != nil || libtest.Text(it["n"]) != "7" {
				t.Fatal(it, err)
			}
		}
		same(t, m)
		for _, m.Phase = range []migrate.Phase{migrate.WriteBoth, migrate.ReadNew} {
			for i := range belated / 2 {
				key := afterwards(i+belated/2*int(m.Phase-migrate.WriteBoth), 0)
				if err := m.Delete(t.Context(), key, later); err != nil {
					t.Fatal(err)
				}
				for _, phase := range []migrate.Phase{migrate.WriteBoth, migrate.ReadNew} {
					look := *m
					look.Phase = phase
					if it, err := look.Get(t.Context(), key, later); !errors.Is(err, shard.ErrNotFound) {
						t.Fatalf("phase %d, deleted in phase %d: %v, %v", phase, m.Phase, it, err)
					}
				}
			}
		}
	})
}

// TestOldItemsOnTwoPlaces checks that the item at the first place takes precedence, and that a
// drop deletes both.
func TestOldItemsOnTwoPlaces(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, m *migrate.Migration) {
		for i := range belated {
			if err := m.From.Put(t.Context(), afterwards(i, 5), later); err != nil {
				t.Fatal(err)
			}
		}
		m.Phase = migrate.WriteBoth
		if _, err := m.Copy(t.Context(), "acme", table.Span{}, later, nil); err != nil {
			t.Fatal(err)
		}
		if c, err := m.Verify(t.Context(), "acme", table.Span{}, later); err != nil || !c.Equal() {
			t.Fatalf("%+v, %v", c, err)
		}
		m.Phase = migrate.WriteNew
		if done, err := m.Drop(t.Context(), "acme", table.Span{}, later, nil); err != nil || done.Kept != 0 {
			t.Fatalf("%+v, %v", done, err)
		}
		is(t, m, "5")
		left := map[string]bool{}
		for it, err := range m.From.Query(t.Context(), "acme", table.Span{}, later) {
			if left[libtest.Text(it["placed"])] = true; err != nil {
				t.Fatal(err)
			}
		}
		if m.From.Name != m.To.Name && len(left) > 0 {
			t.Fatalf("%d old ones are left", len(left))
		}
	})
}

// outrun puts an item just before the first copy.
type outrun struct {
	*dynamodb.Client
	put  func() error
	once sync.Once
}

func (o *outrun) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	var err error
	o.once.Do(func() { err = o.put() })
	if err != nil {
		return nil, err
	}
	return o.Client.TransactWriteItems(ctx, in, opts...)
}

// TestCopyIsOvertaken checks a copy that runs while a put writes another of the item's places.
func TestCopyIsOvertaken(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	for _, inPlace := range []bool{false, true} {
		m := moved(t, db, inPlace, shard.HashShard)
		m.Phase = migrate.WriteBoth
		for i := range belated {
			if shard.Calculated(libtest.Text(afterwards(i, 1)["placed"]), 8) < 2 { // it may be at its first place
				continue
			}
			copying := *m
			copying.Client = &outrun{Client: db, put: func() error { return m.Put(t.Context(), afterwards(i, 9), later) }}
			sort := afterwards(i, 1)["placed"]
			if _, err := copying.Copy(t.Context(), "acme", table.Span{Low: sort, High: sort}, later, nil); err != nil {
				t.Fatal(err)
			}
			if it, err := m.To.Get(t.Context(), afterwards(i, 1), later); err != nil || libtest.Text(it["n"]) != "9" {
				t.Fatal(it, err)
			}
		}
	}
}
