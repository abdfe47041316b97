package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

func TestMigrationRefuses(t *testing.T) {
	client := enginetest.Client(t)
	old := table.Table{Client: client, Name: "a", PartitionKey: "p", SortKey: "s", Shards: table.Fixed(2), Layout: table.RandomSuffix{}}
	to := old
	to.Layout, to.Format = table.CalculatedSuffix{}, shard.Underscore
	sound := migrate.Migration{Client: client, From: &old, To: &to}
	random, renamed, inPlace := to, to, to
	random.Layout, renamed.SortKey, inPlace.Format = table.RandomSuffix{}, "x", ""
	for name, spoil := range map[string]func(m *migrate.Migration){
		"no client": func(m *migrate.Migration) { m.Client = nil }, "no table": func(m *migrate.Migration) { m.To = nil },
		"phase": func(m *migrate.Migration) { m.Phase = 4 }, "to random": func(m *migrate.Migration) { m.To = &random },
		"renamed": func(m *migrate.Migration) { m.To = &renamed }, "random in place": func(m *migrate.Migration) { m.To = &inPlace },
	} {
		m := sound
		spoil(&m)
		if err := m.Put(t.Context(), table.Item{"p": wingtest.Str("x"), "s": wingtest.Str("y")}, wingtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err1 := sound.Copy(t.Context(), "x", table.Span{}, wingtest.Epoch, nil)
	_, err2 := sound.Prune(t.Context(), "x", table.Span{}, wingtest.Epoch, nil)
	_, err3 := sound.Drop(t.Context(), "x", table.Span{}, wingtest.Epoch, nil)
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, shard.ErrMisused) {
			t.Errorf("in the first phase: %v", err)
		}
	}
}

// TestMigrationTellsWhatDiffers: what was written by the old alone, after a copy, is
// found, and copied again; what only the new has is found, and deleted.
func TestMigrationTellsWhatDiffers(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	a, b := wingtest.Theirs(t, client, "S"), wingtest.Theirs(t, client, "S")
	old := table.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(3), Layout: table.CalculatedSuffix{}}
	to := old
	to.Name, to.Shards = b, table.Fixed(5)
	m := migrate.Migration{Client: client, From: &old, To: &to, Phase: migrate.WriteBoth}
	put := func(t *testing.T, put func(context.Context, table.Item, time.Time) error, sort string, n int64) {
		t.Helper()
		if err := put(t.Context(), table.Item{"customer": wingtest.Str("acme"), "placed": wingtest.Str(sort), "n": wingtest.Num(n)}, wingtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	put(t, m.Put, "same", 1)
	put(t, m.Put, "changed", 1)
	put(t, old.Put, "changed", 2)
	put(t, old.Put, "uncopied", 3)
	put(t, to.Put, "extra", 4)
	c, err := m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch)
	if err != nil || c.Equal() || c.Missing != 1 || c.Extra != 1 || c.Different != 1 || len(c.Examples) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	if done, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); !errors.Is(err, migrate.ErrExtra) || done.Changed != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if done, err := m.Prune(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil || done.Changed != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	done, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil)
	if err != nil || done.Changed != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if c, err = m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || !c.Equal() {
		t.Fatalf("%+v, %v", c, err)
	}
	m.Phase = migrate.WriteNew
	if err := m.Delete(t.Context(), table.Item{"customer": wingtest.Str("acme"), "placed": wingtest.Str("same")}, wingtest.Epoch); err != nil {
		t.Fatal(err)
	}
	reported := 0
	done, err = m.Drop(t.Context(), "acme", table.Span{}, wingtest.Epoch, func(p migrate.Progress) { reported += p.Kept })
	if err != nil || reported != 1 || done.Kept != 1 || done.Changed != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
}

// TestMigrationUpdates: conditions, and items that are not copied yet.
func TestMigrationUpdates(t *testing.T) {
	client := enginetest.Client(t)
	a := wingtest.Theirs(t, client, "S")
	old := table.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(3), Layout: table.CalculatedSuffix{}}
	to := old
	to.Shards = table.Fixed(40)
	for _, phase := range []migrate.Phase{migrate.WriteOld, migrate.WriteBoth, migrate.ReadNew, migrate.WriteNew} {
		m := migrate.Migration{Client: client, From: &old, To: &to, Phase: phase}
		key := table.Item{"customer": wingtest.Str("acme"), "placed": wingtest.Str(fmt.Sprint("x", phase))}
		first := &to
		if phase <= migrate.WriteBoth {
			first = &old
		}
		if err := first.Put(t.Context(), table.Item{"customer": key["customer"], "placed": key["placed"], "n": wingtest.Num(5), "word": wingtest.Str("kept")}, wingtest.Epoch); err != nil {
			t.Fatal(err)
		}
		update := func(least int64) error {
			return m.Update(t.Context(), key, &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("ADD n :one"), ConditionExpression: aws.String("n >= :least"),
				ExpressionAttributeValues: table.Item{":one": wingtest.Num(1), ":least": wingtest.Num(least)},
			}, wingtest.Epoch)
		}
		if err := update(5); err != nil {
			t.Fatalf("phase %d: %v", phase, err)
		}
		if err := update(7); !wingtest.IsConditional(err) {
			t.Fatalf("phase %d: %v", phase, err)
		}
		it, err := m.Get(t.Context(), key, wingtest.Epoch)
		if err != nil || wingtest.Text(it["n"]) != "6" || wingtest.Text(it["word"]) != "kept" {
			t.Fatalf("phase %d: %v, %v", phase, it, err)
		}
	}
}

// TestCopyRefusesToMergeItems: two old items with one sort key are not made one.
func TestCopyRefusesToMergeItems(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	a := wingtest.Theirs(t, client, "S")
	old := table.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(50), Layout: table.RandomSuffix{}}
	to := old
	to.Format, to.Layout = shard.Underscore, table.CalculatedSuffix{}
	m := migrate.Migration{Client: client, From: &old, To: &to, Phase: migrate.WriteBoth}
	for i := range 10 {
		if err := old.Put(t.Context(), table.Item{"customer": wingtest.Str("acme"), "placed": wingtest.Str("x"), "n": wingtest.Num(int64(i))}, wingtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err == nil {
		t.Fatal("the copy made several items one")
	}
	if n, err := to.Count(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || n > 1 {
		t.Fatal(n, err)
	}
	// A sort key is where a copy goes on, so that it sees all that have it.
	if _, err := m.Copy(t.Context(), "acme", table.Span{After: "-1:S:x"}, wingtest.Epoch, nil); !errors.Is(err, shard.ErrMisused) {
		t.Fatal("a copy that goes on made several items one:", err)
	}
	// As the error says to do.
	one := table.Item{"customer": wingtest.Str("acme"), "placed": wingtest.Str("x"), "n": wingtest.Num(1)}
	if err := errors.Join(old.Delete(t.Context(), one, wingtest.Epoch), m.Put(t.Context(), one, wingtest.Epoch)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil {
		t.Fatal(err)
	}
}

// TestAnItemPutTwice: a random suffix has it twice, which keeps no migration from its
// end.
func TestAnItemPutTwice(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	old := wingtest.Orders(t, client, client, table.RandomSuffix{}, 10)
	m := migrate.Migration{Client: client, From: old, To: wingtest.Orders(t, client, client, table.CalculatedSuffix{}, 10), Phase: migrate.WriteBoth}
	for i := range 5 {
		for _, at := range []string{"acme#2", "acme#7"} {
			it := placed("acme", i)
			it["customer"] = wingtest.Str(at)
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &old.Name, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil {
		t.Fatal(err)
	}
	m.Phase = migrate.ReadNew
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || !c.Equal() || c.Compared != 10 {
		t.Fatalf("%+v, %v", c, err)
	}
	m.Phase = migrate.WriteNew
	changed := placed("acme", 1)
	changed["n"] = wingtest.Num(100)
	if err := m.Put(t.Context(), changed, wingtest.Epoch); err != nil {
		t.Fatal(err)
	}
	if done, err := m.Drop(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil || done.Changed != 10 {
		t.Fatalf("%+v, %v", done, err)
	}
	if n, err := m.Count(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || n != 5 {
		t.Fatal(n, err)
	}
}

// TestDropsOfOldItemsThatDiffer: a drop deletes whatever has a new one.
func TestDropsOfOldItemsThatDiffer(t *testing.T) {
	client := enginetest.Client(t)
	old := wingtest.Orders(t, client, client, table.RandomSuffix{}, 10)
	m := migrate.Migration{Client: client, From: old, To: wingtest.Orders(t, client, client, table.CalculatedSuffix{}, 10), Phase: migrate.ReadNew}
	for i := range 20 { // on many write shards, and each another item
		it := placed("acme", 1)
		it["n"] = wingtest.Num(int64(i))
		if err := m.Put(t.Context(), it, wingtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	m.Phase = migrate.WriteNew
	if done, err := m.Drop(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil || done.Changed < 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if n, err := old.Count(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || n != 0 {
		t.Fatal(n, err)
	}
}
