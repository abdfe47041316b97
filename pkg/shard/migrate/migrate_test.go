package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestInvalidMigrationsAreRejected checks that settings are rejected with which items of both layouts would mix.
func TestInvalidMigrationsAreRejected(t *testing.T) {
	client := enginetest.Client(t)
	old := table.Table{Client: client, Name: "a", PartitionKey: "p", SortKey: "s", Shards: table.Fixed(2), Layout: table.RandomSuffix{}}
	to := old
	to.Layout, to.Format = table.CalculatedSuffix{}, shard.Underscore
	valid := migrate.Migration{Client: client, From: &old, To: &to}
	random, renamed, inPlace, one, plain := to, to, to, to, to
	random.Layout, renamed.SortKey, inPlace.Format = table.RandomSuffix{}, "x", ""
	one.Shards, one.Layout = table.Fixed(1), table.Unsharded{}
	plain.Format, plain.PlainFirst = shard.HashShard, true
	more, digits := to, to
	more.Shards, digits.Format = table.Fixed(7), shard.Underscore+"1"
	buckets, wider := to, to
	buckets.Layout, wider.Layout = table.TimeBuckets{Bucket: shard.Hour, By: "s"}, table.TimeBuckets{Bucket: shard.Day, By: "s"}
	for name, spoil := range map[string]func(m *migrate.Migration){
		"no client": func(m *migrate.Migration) { m.Client = nil }, "no table": func(m *migrate.Migration) { m.To = nil },
		"phase": func(m *migrate.Migration) { m.Phase = 4 }, "to random": func(m *migrate.Migration) { m.To = &random },
		"renamed": func(m *migrate.Migration) { m.To = &renamed }, "random in place": func(m *migrate.Migration) { m.To = &inPlace },
		"another count in place": func(m *migrate.Migration) { m.From, m.To = &to, &more },
		"a format of digits":     func(m *migrate.Migration) { m.From, m.To = &to, &digits },
		"another bucket":         func(m *migrate.Migration) { m.From, m.To = &buckets, &wider },
		"the plain key":          func(m *migrate.Migration) { m.From, m.To = &one, &plain },
	} {
		m := valid
		spoil(&m)
		if err := m.Put(t.Context(), table.Item{"p": libtest.Str("x"), "s": libtest.Str("y")}, libtest.Epoch); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: error %v, want ErrMisused", name, err)
		}
	}
	_, err1 := valid.Copy(t.Context(), "x", table.Span{}, libtest.Epoch, nil)
	_, err2 := valid.Prune(t.Context(), "x", table.Span{}, libtest.Epoch, nil)
	_, err3 := valid.Drop(t.Context(), "x", table.Span{}, libtest.Epoch, nil)
	for _, err := range []error{err1, err2, err3} {
		if !errors.Is(err, shard.ErrMisused) {
			t.Errorf("phase WriteOld: error %v, want ErrMisused", err)
		}
	}
}

// TestVerifyFindsDifferences checks that Verify finds missing, different and extra new items. Copy repairs the first two
// and Prune deletes the last.
func TestVerifyFindsDifferences(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	a, b := libtest.Theirs(t, client, "S"), libtest.Theirs(t, client, "S")
	old := table.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(3), Layout: table.CalculatedSuffix{}}
	to := old
	to.Name, to.Shards = b, table.Fixed(5)
	m := migrate.Migration{Client: client, From: &old, To: &to, Phase: migrate.WriteBoth}
	put := func(t *testing.T, put func(context.Context, table.Item, time.Time) error, sort string, n int64) {
		t.Helper()
		if err := put(t.Context(), table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(sort), "n": libtest.Num(n)}, libtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	put(t, m.Put, "same", 1)
	put(t, m.Put, "changed", 1)
	put(t, old.Put, "changed", 2)
	put(t, old.Put, "uncopied", 3)
	put(t, to.Put, "extra", 4)
	c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch)
	if err != nil || c.Equal() || c.Missing != 1 || c.Extra != 1 || c.Different != 1 || len(c.Examples) != 3 {
		t.Fatalf("Verify = %+v, %v; want one item missing, one extra, one different", c, err)
	}
	if done, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); !errors.Is(err, migrate.ErrExtra) || done.Changed != 0 {
		t.Fatalf("Copy = %+v, %v; want ErrExtra", done, err)
	}
	if done, err := m.Prune(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil || done.Changed != 1 {
		t.Fatalf("Prune = %+v, %v; want 1 changed", done, err)
	}
	done, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil)
	if err != nil || done.Changed != 2 {
		t.Fatalf("Copy = %+v, %v; want 2 changed", done, err)
	}
	if c, err = m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || !c.Equal() {
		t.Fatalf("Verify after Copy = %+v, %v", c, err)
	}
	m.Phase = migrate.WriteNew
	if err := m.Delete(t.Context(), table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("same")}, libtest.Epoch); err != nil {
		t.Fatal(err)
	}
	reported := 0
	done, err = m.Drop(t.Context(), "acme", table.Span{}, libtest.Epoch, func(p migrate.Progress) { reported += p.Kept })
	if err != nil || reported != 1 || done.Kept != 1 || done.Changed != 2 {
		t.Fatalf("Drop = %+v, %v; want 1 kept and 2 changed", done, err)
	}
}

// TestUpdateInEachPhase checks that updates and their conditions apply to items that are not copied yet.
func TestUpdateInEachPhase(t *testing.T) {
	client := enginetest.Client(t)
	a := libtest.Theirs(t, client, "S")
	old := table.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(3), Layout: table.CalculatedSuffix{}}
	to := old
	to.Format, to.Shards = shard.Underscore, table.Fixed(40)
	for _, phase := range []migrate.Phase{migrate.WriteOld, migrate.WriteBoth, migrate.ReadNew, migrate.WriteNew} {
		m := migrate.Migration{Client: client, From: &old, To: &to, Phase: phase}
		key := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str(fmt.Sprint("x", phase))}
		first := &to
		if phase <= migrate.WriteBoth {
			first = &old
		}
		if err := first.Put(t.Context(), table.Item{"customer": key["customer"], "placed": key["placed"], "n": libtest.Num(5), "word": libtest.Str("kept")}, libtest.Epoch); err != nil {
			t.Fatal(err)
		}
		update := func(least int64) error {
			_, err := m.Update(t.Context(), key, &dynamodb.UpdateItemInput{
				UpdateExpression: aws.String("ADD n :one"), ConditionExpression: aws.String("n >= :least"),
				ExpressionAttributeValues: table.Item{":one": libtest.Num(1), ":least": libtest.Num(least)},
			}, libtest.Epoch)
			return err
		}
		if err := update(5); err != nil {
			t.Fatalf("phase %d: %v", phase, err)
		}
		if err := update(7); !libtest.IsConditional(err) {
			t.Fatalf("phase %d: error %v, want a failed condition", phase, err)
		}
		it, err := m.Get(t.Context(), key, libtest.Epoch)
		if err != nil || libtest.Text(it["n"]) != "6" || libtest.Text(it["word"]) != "kept" {
			t.Fatalf("phase %d: %v, %v; want n = 6", phase, it, err)
		}
	}
}

// TestCopyRejectsMergingItems checks that Copy does not merge old items with equal sort keys.
func TestCopyRejectsMergingItems(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	a := libtest.Theirs(t, client, "S")
	old := table.Table{Client: client, Name: a, PartitionKey: "customer", SortKey: "placed", Shards: table.Fixed(50), Layout: table.RandomSuffix{}}
	to := old
	to.Format, to.Layout = shard.Underscore, table.CalculatedSuffix{}
	m := migrate.Migration{Client: client, From: &old, To: &to, Phase: migrate.WriteBoth}
	for i := range 10 {
		if err := old.Put(t.Context(), table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("x"), "n": libtest.Num(int64(i))}, libtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err == nil {
		t.Fatal("Copy merged several items")
	}
	if n, err := to.Count(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || n > 1 {
		t.Fatalf("%d new items, %v; want at most 1", n, err)
	}
	// Follow the error's advice.
	one := table.Item{"customer": libtest.Str("acme"), "placed": libtest.Str("x"), "n": libtest.Num(1)}
	if err := errors.Join(old.Delete(t.Context(), one, libtest.Epoch), m.Put(t.Context(), one, libtest.Epoch)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil {
		t.Fatal(err)
	}
}

// TestDuplicatesBecomeOneItem checks that a migration makes one item of duplicates on two write shards, and drops both.
func TestDuplicatesBecomeOneItem(t *testing.T) {
	t.Parallel()
	client := enginetest.Client(t)
	old := libtest.Orders(t, client, client, table.RandomSuffix{}, 10)
	m := migrate.Migration{Client: client, From: old, To: libtest.Orders(t, client, client, table.CalculatedSuffix{}, 10), Phase: migrate.WriteBoth}
	for i := range 5 {
		for _, key := range []string{"acme#2", "acme#7"} {
			it := placed("acme", i)
			it["customer"] = libtest.Str(key)
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &old.Name, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil {
		t.Fatal(err)
	}
	m.Phase = migrate.ReadNew
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || !c.Equal() || c.Compared != 10 {
		t.Fatalf("Verify = %+v, %v; want 10 compared", c, err)
	}
	m.Phase = migrate.WriteNew
	changed := placed("acme", 1)
	changed["n"] = libtest.Num(100)
	if err := m.Put(t.Context(), changed, libtest.Epoch); err != nil {
		t.Fatal(err)
	}
	if done, err := m.Drop(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil || done.Changed != 10 {
		t.Fatalf("Drop = %+v, %v; want 10 changed", done, err)
	}
	if n, err := m.Count(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || n != 5 {
		t.Fatalf("%d items, %v; want 5", n, err)
	}
}

// TestDropDeletesItemsThatDiffer checks that Drop deletes old items whose new item has other attributes.
func TestDropDeletesItemsThatDiffer(t *testing.T) {
	client := enginetest.Client(t)
	old := libtest.Orders(t, client, client, table.RandomSuffix{}, 10)
	m := migrate.Migration{Client: client, From: old, To: libtest.Orders(t, client, client, table.CalculatedSuffix{}, 10), Phase: migrate.ReadNew}
	for i := range 20 { // different items on many write shards
		it := placed("acme", 1)
		it["n"] = libtest.Num(int64(i))
		if err := m.Put(t.Context(), it, libtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	m.Phase = migrate.WriteNew
	if done, err := m.Drop(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil || done.Changed < 2 {
		t.Fatalf("Drop = %+v, %v; want several changed", done, err)
	}
	if n, err := old.Count(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || n != 0 {
		t.Fatalf("%d old items are left, %v", n, err)
	}
}
