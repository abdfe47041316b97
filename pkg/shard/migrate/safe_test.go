package migrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// placed returns the item with number n of a name.
func placed(name string, n int) table.Item {
	return table.Item{"customer": libtest.Str(name), "placed": libtest.Str(fmt.Sprintf("%03d", n)), "n": libtest.Num(int64(n))}
}

// TestItemsOfAnotherNameStay checks that Copy fails before it writes if another name looks like a write shard of the
// migrated one. The other name keeps its items.
func TestItemsOfAnotherNameStay(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"acme#0", "acme#2"} {
		t.Run(other, func(t *testing.T) { checkOtherName(t, other) })
	}
}

func checkOtherName(t *testing.T, other string) {
	db := enginetest.Client(t)
	plain := libtest.Orders(t, db, db, table.Unsharded{}, 1)
	sharded := *plain
	sharded.Shards, sharded.Layout = table.Fixed(10), table.CalculatedSuffix{}
	for i := range 56 {
		for _, name := range []string{"acme", other} {
			it := placed(name, i)
			it["word"] = libtest.Str(name)
			if err := plain.Put(t.Context(), it, libtest.Epoch); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := migrate.Migration{Client: db, From: plain, To: &sharded}
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || c.Extra != 56 || c.Equal() {
		t.Fatalf("Verify = %+v, %v; want 56 extra", c, err)
	}
	m.Phase = migrate.WriteBoth
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || c.Extra+c.Different != 56 { // some of the other name's items have a primary key of acme
		t.Fatalf("Verify = %+v, %v; want 56 extra or different", c, err)
	}
	done, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil)
	if !errors.Is(err, migrate.ErrExtra) || done.Changed != 0 {
		t.Fatalf("Copy = %+v, %v; want ErrExtra", done, err)
	}
	for i := range 56 {
		if it, err := plain.Get(t.Context(), placed(other, i), libtest.Epoch); err != nil || libtest.Text(it["word"]) != other {
			t.Fatalf("item %d of %s is %v, %v", i, other, it, err)
		}
	}
	m.To.Format = shard.HashShard // as Migration's comment advises
	if done, err = m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil || done.Changed != 56 {
		t.Fatalf("Copy with another format = %+v, %v; want 56 changed", done, err)
	}
}

// TestEqualSortKeysMigrate checks that Copy copies items with equal sort keys if each has a new write shard of its own.
// Otherwise Copy and Put return ErrMisused.
func TestEqualSortKeysMigrate(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	for name, c := range map[string]struct {
		inPlace bool
		shards  table.Fixed
		layout  table.Layout
		fits    bool
	}{
		// All items of libtest.PutDay are on different ones of 46 write shards.
		"more": {false, 46, table.CalculatedSuffix{By: "id"}, true}, "more, in place": {true, 46, table.CalculatedSuffix{By: "id"}, true},
		"fewer": {false, 3, table.CalculatedSuffix{By: "id"}, false}, "fewer, in place": {true, 3, table.CalculatedSuffix{By: "id"}, false},
		"unsharded":       {false, 1, table.Unsharded{}, false},
		"by the sort key": {false, 46, table.CalculatedSuffix{}, false},
	} {
		from := libtest.Orders(t, db, db, table.CalculatedSuffix{By: "id"}, 10)
		to := libtest.Orders(t, db, db, c.layout, c.shards)
		if c.inPlace {
			to.Name, to.Format = from.Name, shard.Underscore
		}
		want := libtest.PutDay(t, from, 10)
		m := migrate.Migration{Client: db, From: from, To: to, Phase: migrate.WriteBoth}
		_, copyErr := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil)
		if c.fits != (copyErr == nil) || !c.fits && !errors.Is(copyErr, shard.ErrMisused) {
			t.Fatalf("%s: Copy: error %v, want ErrMisused: %t", name, copyErr, !c.fits)
		}
		v, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch)
		if c.fits != (err == nil && v.Equal()) {
			t.Fatalf("%s: Verify = %+v, %v; want equal: %t", name, v, err, c.fits)
		}
		rejected := 0
		for _, id := range want {
			it := libtest.Order(0)
			it["id"], it["n"] = libtest.Str(id), libtest.Num(7)
			if err := m.Put(t.Context(), it, libtest.Epoch); errors.Is(err, shard.ErrMisused) {
				rejected++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if got, err := m.Count(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || got != len(want) || c.fits != (rejected == 0) {
			t.Fatalf("%s: %d of %d items, %d puts rejected, %v", name, got, len(want), rejected, err)
		}
		if c.fits {
			checkMigrated(t, &m, want)
		}
	}
}

// checkMigrated updates and deletes items in phase ReadNew, and drops the old items.
func checkMigrated(t *testing.T, m *migrate.Migration, want []string) {
	t.Helper()
	key := func(id string) table.Item {
		k := libtest.Order(0)
		k["id"] = libtest.Str(id)
		return k
	}
	m.Phase = migrate.ReadNew
	for _, id := range want {
		_, err := m.Update(t.Context(), key(id), &dynamodb.UpdateItemInput{
			UpdateExpression: aws.String("SET word = :w"), ExpressionAttributeValues: table.Item{":w": libtest.Str(id)},
		}, libtest.Epoch)
		if it, err2 := m.Get(t.Context(), key(id), libtest.Epoch); errors.Join(err, err2) != nil || libtest.Text(it["word"]) != id {
			t.Fatal(it, err, err2)
		}
	}
	if err := m.Delete(t.Context(), key(want[0]), libtest.Epoch); err != nil {
		t.Fatal(err)
	}
	m.Phase = migrate.WriteNew
	done, err := m.Drop(t.Context(), "acme", table.Span{}, libtest.Epoch, nil)
	if got := libtest.IDs(t, m.To, table.Span{}); err != nil || done.Kept != 0 || !slices.Equal(got, want[1:]) {
		t.Fatalf("%+v, %v: %v, want %v", done, err, got, want[1:])
	}
}

// TestPagesContinueInAnotherPhase checks that a cursor is valid in another phase, also between equal sort keys.
func TestPagesContinueInAnotherPhase(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	by := table.CalculatedSuffix{By: "id"}
	for name, c := range map[string]struct {
		from, to table.Layout
		shards   table.Fixed
		day      bool
	}{"by both": {by, by, 46, true}, "by the old": {by, table.CalculatedSuffix{}, 7, false}, "by the new": {table.CalculatedSuffix{}, by, 7, false}} {
		from, to := libtest.Orders(t, db, db, c.from, 10), libtest.Orders(t, db, db, c.to, c.shards)
		var want []string
		if c.day {
			want = libtest.PutDay(t, from, 10)
		}
		for i := range 6 {
			it := placed("acme", i)
			it["id"] = libtest.Str(fmt.Sprint(i))
			if err := from.Put(t.Context(), it, libtest.Epoch); err != nil {
				t.Fatal(err)
			}
			want = append(want, libtest.Text(it["id"]))
		}
		m := migrate.Migration{Client: db, From: from, To: to, Phase: migrate.WriteBoth}
		if _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		for _, desc := range []bool{false, true} {
			got := pagesOverPhases(t, m, desc)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s, desc %t: %v, want %v", name, desc, got, want)
			}
		}
	}
}

// pagesOverPhases reads pages of one item, and changes the phase after each.
func pagesOverPhases(t *testing.T, m migrate.Migration, desc bool) (got []string) {
	t.Helper()
	last := ""
	s := table.Span{Limit: 1, Desc: desc}
	for more := true; more; more = s.After != "" {
		page, err := m.Page(t.Context(), "acme", s, libtest.Epoch)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			sort := libtest.Text(it["placed"])
			if last != "" && sort != last && desc != (sort < last) {
				t.Errorf("desc %t: %s after %s", desc, sort, last)
			}
			got, last = append(got, libtest.Text(it["id"])), sort
		}
		s.After, m.Phase = page.Next, migrate.WriteBoth+migrate.ReadNew-m.Phase // alternate
	}
	return got
}

// TestDropKeepsItemWithoutCopy checks that Drop keeps an old item if another item has its new primary key.
func TestDropKeepsItemWithoutCopy(t *testing.T) {
	db := enginetest.Client(t)
	from, to := libtest.Orders(t, db, db, table.CalculatedSuffix{By: "id"}, 10), libtest.Orders(t, db, db, table.CalculatedSuffix{By: "id"}, 1)
	want := libtest.PutDay(t, from, 10)
	m := migrate.Migration{Client: db, From: from, To: to, Phase: migrate.WriteNew}
	it := libtest.Order(0)
	it["id"] = libtest.Str(want[2])
	if err := m.Put(t.Context(), it, libtest.Epoch); err != nil {
		t.Fatal(err)
	}
	done, err := m.Drop(t.Context(), "acme", table.Span{}, libtest.Epoch, nil)
	if err != nil || done.Changed != 1 || done.Kept != len(want)-1 {
		t.Fatalf("Drop = %+v, %v; want 1 changed and %d kept", done, err, len(want)-1)
	}
}

// TestStraysAreReported checks that Verify and Copy report an item on a write shard of neither layout.
func TestStraysAreReported(t *testing.T) {
	db := enginetest.Client(t)
	four := libtest.Orders(t, db, db, table.CalculatedSuffix{}, 4)
	nine, six := *four, *four
	nine.Format, six.Format = shard.Underscore, shard.Underscore
	nine.Shards, six.Shards = table.Fixed(9), table.Fixed(6)
	for i := range 40 {
		if err := six.Put(t.Context(), placed("acme", i), libtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	m := migrate.Migration{Client: db, From: four, To: &nine}
	c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch)
	if err != nil || c.Extra == 0 {
		t.Fatalf("Verify = %+v, %v; want extra items", c, err)
	}
	m.Phase = migrate.WriteBoth
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); !errors.Is(err, migrate.ErrExtra) {
		t.Fatalf("Copy: error %v, want ErrExtra", err)
	}
	if done, err := m.Prune(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil || done.Changed != c.Extra {
		t.Fatalf("Prune = %+v, %v; want %d changed", done, err, c.Extra)
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); err != nil {
		t.Fatal(err)
	}
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || !c.Equal() {
		t.Fatalf("Verify after Copy = %+v, %v", c, err)
	}
	m.From, m.To = &nine, four // the next stray is on an old write shard only
	if err := six.Put(t.Context(), strayOf(t), libtest.Epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); !errors.Is(err, shard.ErrMisused) || !strings.Contains(err.Error(), "lost") {
		t.Fatalf("Copy: error %v, want ErrMisused, since the item would be lost", err)
	}
}

// TestStraysOnNewWriteShards checks that an item on a new write shard is a stray if the new layout calculates another one.
func TestStraysOnNewWriteShards(t *testing.T) {
	db := enginetest.Client(t)
	for _, at := range []int{0, 2} {
		four := libtest.Orders(t, db, db, table.CalculatedSuffix{}, 4)
		nine := *four
		nine.Format, nine.Shards = shard.Underscore, table.Fixed(9)
		strays := 0
		for i := range 40 {
			it := placed("acme", i)
			if shard.Calculated(libtest.Text(it["placed"]), 9) == at {
				continue
			}
			it["customer"] = libtest.Str(fmt.Sprint("acme_", at))
			if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &four.Name, Item: it}); err != nil {
				t.Fatal(err)
			}
			strays++
		}
		m := migrate.Migration{Client: db, From: four, To: &nine}
		if c, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); err != nil || c.Extra != strays {
			t.Fatalf("_%d: Verify = %+v, %v; want %d extra", at, c, err, strays)
		}
		m.Phase = migrate.WriteBoth
		if _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); !errors.Is(err, migrate.ErrExtra) {
			t.Fatalf("_%d: Copy: error %v, want ErrExtra", at, err)
		}
	}
}

// strayOf returns an item on write shard 4 or 5 of six, and on another one of four and of nine.
func strayOf(t *testing.T) table.Item {
	t.Helper()
	for i := 40; ; i++ {
		sort := libtest.Text(placed("acme", i)["placed"])
		if at := shard.Calculated(sort, 6); at >= 4 && at != shard.Calculated(sort, 9) {
			return placed("acme", i)
		}
	}
}
