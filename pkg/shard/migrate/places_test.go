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

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// belated is how many items lie where the count before put them.
var belated = lane.Runs(10, 20)

// later is when these calls are made: no item lies ahead.
var later = wingtest.Epoch.Add(time.Hour)

// moved is a migration from a table whose count has changed, with items of just after
// the change that lie where the count before put them.
func moved(t *testing.T, db *dynamodb.Client, inPlace bool, format shard.Format) *migrate.Migration {
	t.Helper()
	old := wingtest.Orders(t, db, db, table.CalculatedSuffix{Time: table.SortTime("placed", "")}, 1)
	old.Shards = &wingtest.Steps{History: shard.History{{Count: 2}, {At: wingtest.Epoch, Count: 8}}}
	late := *old // of a program that doesn't know of the change yet
	late.Shards = &wingtest.Steps{History: shard.History{{Count: 2}}}
	for i := range belated {
		if err := late.Put(t.Context(), afterwards(i, 1), later); err != nil {
			t.Fatal(err)
		}
	}
	to := wingtest.Orders(t, db, db, table.CalculatedSuffix{}, 11)
	if to.Format = format; inPlace {
		to.Name = old.Name
	}
	return &migrate.Migration{Client: db, From: old, To: to}
}

func afterwards(i int, n int64) table.Item {
	return table.Item{"customer": wingtest.Str("acme"), "placed": wingtest.Str(shard.Millis.Key(wingtest.Epoch.Add(time.Second), "#", fmt.Sprint(i))), "n": wingtest.Num(n)}
}

// places are the three ways in which new items may lie beside old ones.
func places(t *testing.T, check func(t *testing.T, m *migrate.Migration)) {
	db := enginetest.Client(t)
	for name, c := range map[string]struct {
		inPlace bool
		format  shard.Format
	}{"two tables": {}, "one table": {true, shard.HashShard}, "one table and format": {true, ""}} {
		t.Run(name, func(t *testing.T) { check(t, moved(t, db, c.inPlace, c.format)) })
	}
}

// is wants the migration to read all of them with so much.
func is(t *testing.T, m *migrate.Migration, n string) {
	t.Helper()
	count := 0
	for it, err := range m.Query(t.Context(), "acme", table.Span{Consistent: true}, later) {
		if count++; err != nil || wingtest.Text(it["n"]) != n {
			t.Fatalf("phase %d: %v, %v, want %s", m.Phase, it, err, n)
		}
	}
	if count != belated {
		t.Fatalf("phase %d: %d items", m.Phase, count)
	}
}

// same wants a copy and a comparison that find no fault, and a pruning nothing to do.
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

// TestOldItemsOnAnotherPlace: an old item that is not where the count at its time puts
// it, but where a look-up finds it, is read, copied and dropped.
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

// TestWritesToAnotherPlace: an update goes where the item is, a put where it belongs,
// which counts then, and a delete leaves it nowhere.
func TestWritesToAnotherPlace(t *testing.T) {
	t.Parallel()
	places(t, func(t *testing.T, m *migrate.Migration) {
		for _, m.Phase = range []migrate.Phase{migrate.WriteBoth, migrate.ReadNew} {
			for i := range belated {
				err := m.Update(t.Context(), afterwards(i, 0), &dynamodb.UpdateItemInput{
					UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": wingtest.Num(1)},
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
			if it, err := m.Get(t.Context(), afterwards(i, 0), later); err != nil || wingtest.Text(it["n"]) != "7" {
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

// TestOldItemsOnTwoPlaces: the one on the first place counts, and a drop deletes both.
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
			if left[wingtest.Text(it["placed"])] = true; err != nil {
				t.Fatal(err)
			}
		}
		if m.From.Name != m.To.Name && len(left) > 0 {
			t.Fatalf("%d old ones are left", len(left))
		}
	})
}

// outrun puts an item just before the first copy is made.
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

// TestACopyIsOvertaken: by a put of the item that goes to another place than it was
// copied from.
func TestACopyIsOvertaken(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	for _, inPlace := range []bool{false, true} {
		m := moved(t, db, inPlace, shard.HashShard)
		m.Phase = migrate.WriteBoth
		for i := range belated {
			if shard.Calculated(wingtest.Text(afterwards(i, 1)["placed"]), 8) < 2 { // it may be where it belongs
				continue
			}
			copying := *m
			copying.Client = &outrun{Client: db, put: func() error { return m.Put(t.Context(), afterwards(i, 9), later) }}
			sort := afterwards(i, 1)["placed"]
			if _, err := copying.Copy(t.Context(), "acme", table.Span{Low: sort, High: sort}, later, nil); err != nil {
				t.Fatal(err)
			}
			if it, err := m.To.Get(t.Context(), afterwards(i, 1), later); err != nil || wingtest.Text(it["n"]) != "9" {
				t.Fatal(it, err)
			}
		}
	}
}
