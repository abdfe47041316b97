package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

func TestMigrationRefuses(t *testing.T) {
	client := enginetest.Client(t)
	old := ddb.Table{Client: client, Name: "a", PartitionKey: "p", SortKey: "s", Shards: ddb.Fixed(2), Layout: ddb.RandomSuffix{}}
	to := old
	to.Layout, to.Format = ddb.CalculatedSuffix{}, shard.Underscore
	sound := ddb.Migration{Client: client, From: &old, To: &to}
	random, renamed, inPlace := to, to, to
	random.Layout, renamed.SortKey, inPlace.Format = ddb.RandomSuffix{}, "x", ""
	for name, spoil := range map[string]func(m *ddb.Migration){
		"no client": func(m *ddb.Migration) { m.Client = nil }, "no table": func(m *ddb.Migration) { m.To = nil },
		"phase": func(m *ddb.Migration) { m.Phase = 4 }, "to random": func(m *ddb.Migration) { m.To = &random },
		"renamed": func(m *ddb.Migration) { m.To = &renamed }, "random in place": func(m *ddb.Migration) { m.To = &inPlace },
	} {
		m := sound
		spoil(&m)
		if err := m.Put(t.Context(), ddb.Item{"p": str("x"), "s": str("y")}); !errors.Is(err, ddb.ErrMisused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err1 := sound.Copy(t.Context(), "x", ddb.Span{}, nil)
	_, err2 := sound.Prune(t.Context(), "x", ddb.Span{}, nil)
	_, err3 := sound.Drop(t.Context(), "x", ddb.Span{}, false, nil)
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, ddb.ErrMisused) {
			t.Errorf("in the first phase: %v", err)
		}
	}
}

// TestMigrationTellsWhatDiffers: what was written by the old alone, after a copy, is
// found, and copied again; what only the new has is found, and deleted.
func TestMigrationTellsWhatDiffers(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	a, b := theirs(t, client, "S"), theirs(t, client, "S")
	old := ddb.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: ddb.Fixed(3), Layout: ddb.CalculatedSuffix{}}
	to := old
	to.Name, to.Shards = b, ddb.Fixed(5)
	m := ddb.Migration{Client: client, From: &old, To: &to, Phase: ddb.WriteBoth}
	put := func(t *testing.T, put func(context.Context, ddb.Item) error, sort string, n int64) {
		t.Helper()
		if err := put(t.Context(), ddb.Item{"customer": str("acme"), "placed": str(sort), "n": num(n)}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, m.Put, "same", 1)
	put(t, m.Put, "changed", 1)
	put(t, old.Put, "changed", 2)
	put(t, old.Put, "uncopied", 3)
	put(t, to.Put, "extra", 4)
	c, err := m.Verify(t.Context(), "acme", ddb.Span{})
	if err != nil || c.Equal() || c.Missing != 1 || c.Extra != 1 || c.Different != 1 || len(c.Examples) != 3 {
		t.Fatalf("%+v, %v", c, err)
	}
	if done, err := m.Copy(t.Context(), "acme", ddb.Span{}, nil); !errors.Is(err, ddb.ErrExtra) || done.Changed != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if done, err := m.Prune(t.Context(), "acme", ddb.Span{}, nil); err != nil || done.Changed != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	done, err := m.Copy(t.Context(), "acme", ddb.Span{}, nil)
	if err != nil || done.Changed != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if c, err = m.Verify(t.Context(), "acme", ddb.Span{}); err != nil || !c.Equal() {
		t.Fatalf("%+v, %v", c, err)
	}
	m.Phase = ddb.WriteNew
	if err := m.Delete(t.Context(), ddb.Item{"customer": str("acme"), "placed": str("same")}); err != nil {
		t.Fatal(err)
	}
	reported := 0
	done, err = m.Drop(t.Context(), "acme", ddb.Span{}, false, func(p ddb.Progress) { reported += p.Kept })
	if err != nil || reported != 1 || done.Kept != 1 || done.Changed != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
}

// TestMigrationUpdates: conditions, and items that are not copied yet.
func TestMigrationUpdates(t *testing.T) {
	client := enginetest.Client(t)
	a := theirs(t, client, "S")
	old := ddb.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: ddb.Fixed(3), Layout: ddb.CalculatedSuffix{}}
	to := old
	to.Shards = ddb.Fixed(40)
	for _, phase := range []ddb.Phase{ddb.WriteOld, ddb.WriteBoth, ddb.ReadNew, ddb.WriteNew} {
		m := ddb.Migration{Client: client, From: &old, To: &to, Phase: phase}
		key := ddb.Item{"customer": str("acme"), "placed": str(fmt.Sprint("x", phase))}
		first := &to
		if phase <= ddb.WriteBoth {
			first = &old
		}
		if err := first.Put(t.Context(), ddb.Item{"customer": key["customer"], "placed": key["placed"], "n": num(5), "word": str("kept")}); err != nil {
			t.Fatal(err)
		}
		update := func(least int64) error {
			return m.Update(t.Context(), key, &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("ADD n :one"), ConditionExpression: aws.String("n >= :least"),
				ExpressionAttributeValues: ddb.Item{":one": num(1), ":least": num(least)},
			})
		}
		if err := update(5); err != nil {
			t.Fatalf("phase %d: %v", phase, err)
		}
		if err := update(7); !isConditional(err) {
			t.Fatalf("phase %d: %v", phase, err)
		}
		it, err := m.Get(t.Context(), key)
		if err != nil || text(it["n"]) != "6" || text(it["word"]) != "kept" {
			t.Fatalf("phase %d: %v, %v", phase, it, err)
		}
	}
}

func isConditional(err error) bool {
	_, ok := errors.AsType[*types.ConditionalCheckFailedException](err)
	return ok
}

// TestCopyRefusesToMergeItems: two old items with one sort key are not made one.
func TestCopyRefusesToMergeItems(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	a := theirs(t, client, "S")
	old := ddb.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: ddb.Fixed(50), Layout: ddb.RandomSuffix{}}
	to := old
	to.Format, to.Layout = shard.Underscore, ddb.CalculatedSuffix{}
	m := ddb.Migration{Client: client, From: &old, To: &to, Phase: ddb.WriteBoth}
	for i := range 10 {
		if err := old.Put(t.Context(), ddb.Item{"customer": str("acme"), "placed": str("x"), "n": num(int64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Copy(t.Context(), "acme", ddb.Span{}, nil); err == nil {
		t.Fatal("the copy made several items one")
	}
	if n, err := to.Count(t.Context(), "acme", ddb.Span{}); err != nil || n > 1 {
		t.Fatal(n, err)
	}
	// A sort key is where a copy goes on, so that it sees all that have it.
	if _, err := m.Copy(t.Context(), "acme", ddb.Span{After: "-1:S:x"}, nil); !errors.Is(err, ddb.ErrMisused) {
		t.Fatal("a copy that goes on made several items one:", err)
	}
	// As the error says to do.
	one := ddb.Item{"customer": str("acme"), "placed": str("x"), "n": num(1)}
	if err := errors.Join(old.Delete(t.Context(), one), m.Put(t.Context(), one)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Copy(t.Context(), "acme", ddb.Span{}, nil); err != nil {
		t.Fatal(err)
	}
}

// TestAnItemPutTwice: a random suffix has it twice, which keeps no migration from its
// end.
func TestAnItemPutTwice(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	old := orders(t, client, client, ddb.RandomSuffix{}, 10)
	m := ddb.Migration{Client: client, From: old, To: orders(t, client, client, ddb.CalculatedSuffix{}, 10), Phase: ddb.WriteBoth}
	for i := range 5 {
		for _, at := range []string{"acme#2", "acme#7"} {
			it := placed("acme", i)
			it["customer"] = str(at)
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &old.Name, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := m.Copy(t.Context(), "acme", ddb.Span{}, nil); err != nil {
		t.Fatal(err)
	}
	m.Phase = ddb.ReadNew
	if c, err := m.Verify(t.Context(), "acme", ddb.Span{}); err != nil || !c.Equal() || c.Compared != 10 {
		t.Fatalf("%+v, %v", c, err)
	}
	m.Phase = ddb.WriteNew
	changed := placed("acme", 1)
	changed["n"] = num(100)
	if err := m.Put(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if done, err := m.Drop(t.Context(), "acme", ddb.Span{}, false, nil); err != nil || done.Changed != 10 {
		t.Fatalf("%+v, %v", done, err)
	}
	if n, err := m.Count(t.Context(), "acme", ddb.Span{}); err != nil || n != 5 {
		t.Fatal(n, err)
	}
}

// TestDropsOfOldItemsThatDiffer: a drop deletes whatever has a new one.
func TestDropsOfOldItemsThatDiffer(t *testing.T) {
	client := enginetest.Client(t)
	old := orders(t, client, client, ddb.RandomSuffix{}, 10)
	m := ddb.Migration{Client: client, From: old, To: orders(t, client, client, ddb.CalculatedSuffix{}, 10), Phase: ddb.ReadNew}
	for i := range 20 { // on many write shards, and each another item
		it := placed("acme", 1)
		it["n"] = num(int64(i))
		if err := m.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	m.Phase = ddb.WriteNew
	if done, err := m.Drop(t.Context(), "acme", ddb.Span{}, false, nil); err != nil || done.Changed < 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if n, err := old.Count(t.Context(), "acme", ddb.Span{}); err != nil || n != 0 {
		t.Fatal(n, err)
	}
}
