package migrate_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/local/enginetest"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

func placed(name string, n int) table.Item {
	return table.Item{"customer": wingtest.Str(name), "placed": wingtest.Str(fmt.Sprintf("%03d", n)), "n": wingtest.Num(int64(n))}
}

// TestAnotherNamesItemsStay: a plain name that looks like a write shard of the one that
// migrates loses nothing, and is told of before anything is copied.
func TestAnotherNamesItemsStay(t *testing.T) {
	t.Parallel()
	for _, other := range []string{"acme#0", "acme#2"} {
		t.Run(other, func(t *testing.T) { checkAnotherName(t, other) })
	}
}

func checkAnotherName(t *testing.T, other string) {
	db := enginetest.Client(t)
	plain := wingtest.Orders(t, db, db, table.Unsharded{}, 1)
	sharded := *plain
	sharded.Shards, sharded.Layout = table.Fixed(10), table.CalculatedSuffix{}
	for i := range 56 {
		for _, name := range []string{"acme", other} {
			it := placed(name, i)
			it["word"] = wingtest.Str(name)
			if err := plain.Put(t.Context(), it, wingtest.Epoch); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := migrate.Migration{Client: db, From: plain, To: &sharded}
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || c.Extra != 56 || c.Equal() {
		t.Fatalf("%+v, %v", c, err)
	}
	m.Phase = migrate.WriteBoth
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || c.Extra+c.Different != 56 { // some sort keys fit
		t.Fatalf("%+v, %v", c, err)
	}
	done, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil)
	if !errors.Is(err, migrate.ErrExtra) || done.Changed != 0 || done.After != "" {
		t.Fatalf("%+v, %v", done, err)
	}
	for i := range 56 {
		if it, err := plain.Get(t.Context(), placed(other, i), wingtest.Epoch); err != nil || wingtest.Text(it["word"]) != other {
			t.Fatal(it, err)
		}
	}
	m.To.Format = shard.HashShard // as the documentation says to do
	if done, err = m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil || done.Changed != 56 {
		t.Fatalf("%+v, %v", done, err)
	}
}

// TestEqualSortKeysMigrate: what the new write shards can keep is all there, and what
// they can't is refused, by a copy and by writes.
func TestEqualSortKeysMigrate(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	for name, c := range map[string]struct {
		inPlace bool
		shards  table.Fixed
		layout  table.Layout
		fits    bool
	}{
		// 46 keep all of wingtest.PutDay's apart, as 10 do.
		"more": {false, 46, table.CalculatedSuffix{By: "id"}, true}, "more, in place": {true, 46, table.CalculatedSuffix{By: "id"}, true},
		"fewer": {false, 3, table.CalculatedSuffix{By: "id"}, false}, "fewer, in place": {true, 3, table.CalculatedSuffix{By: "id"}, false},
		"unsharded":       {false, 1, table.Unsharded{}, false},
		"by the sort key": {false, 46, table.CalculatedSuffix{}, false},
	} {
		from := wingtest.Orders(t, db, db, table.CalculatedSuffix{By: "id"}, 10)
		to := wingtest.Orders(t, db, db, c.layout, c.shards)
		if c.inPlace {
			to.Name = from.Name
		}
		want := wingtest.PutDay(t, from, 10)
		m := migrate.Migration{Client: db, From: from, To: to, Phase: migrate.WriteBoth}
		_, copyErr := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil)
		if c.fits != (copyErr == nil) || !c.fits && !errors.Is(copyErr, shard.ErrMisused) {
			t.Fatalf("%s: %v", name, copyErr)
		}
		v, err := m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch)
		if c.fits != (err == nil && v.Equal()) {
			t.Fatalf("%s: %+v, %v", name, v, err)
		}
		refused := 0
		for _, id := range want {
			it := wingtest.Order(0)
			it["id"], it["n"] = wingtest.Str(id), wingtest.Num(7)
			if err := m.Put(t.Context(), it, wingtest.Epoch); errors.Is(err, shard.ErrMisused) {
				refused++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if got, err := m.Count(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || got != len(want) || c.fits != (refused == 0) {
			t.Fatalf("%s: %d of %d, %d refused, %v", name, got, len(want), refused, err)
		}
		if c.fits {
			checkMigrated(t, &m, want)
		}
	}
}

// checkMigrated updates and deletes items in both, and drops the old.
func checkMigrated(t *testing.T, m *migrate.Migration, want []string) {
	t.Helper()
	key := func(id string) table.Item {
		k := wingtest.Order(0)
		k["id"] = wingtest.Str(id)
		return k
	}
	m.Phase = migrate.ReadNew
	for _, id := range want {
		err := m.Update(t.Context(), key(id), &dynamodb.UpdateItemInput{
			UpdateExpression: aws.String("SET word = :w"), ExpressionAttributeValues: table.Item{":w": wingtest.Str(id)},
		}, wingtest.Epoch)
		if it, err2 := m.Get(t.Context(), key(id), wingtest.Epoch); errors.Join(err, err2) != nil || wingtest.Text(it["word"]) != id {
			t.Fatal(it, err, err2)
		}
	}
	if err := m.Delete(t.Context(), key(want[0]), wingtest.Epoch); err != nil {
		t.Fatal(err)
	}
	m.Phase = migrate.WriteNew
	done, err := m.Drop(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil)
	if got := wingtest.IDs(t, m.To, table.Span{}); err != nil || done.Kept != 0 || !slices.Equal(got, want[1:]) {
		t.Fatalf("%+v, %v: %v, want %v", done, err, got, want[1:])
	}
}

// TestPagesOutliveAPhase: pages that began with the old items go on with the new ones,
// both ways, also between equal sort keys.
func TestPagesOutliveAPhase(t *testing.T) {
	t.Parallel()
	db := enginetest.Client(t)
	by := table.CalculatedSuffix{By: "id"}
	for name, c := range map[string]struct {
		from, to table.Layout
		shards   table.Fixed
		day      bool
	}{"by both": {by, by, 46, true}, "by the old": {by, table.CalculatedSuffix{}, 7, false}, "by the new": {table.CalculatedSuffix{}, by, 7, false}} {
		from, to := wingtest.Orders(t, db, db, c.from, 10), wingtest.Orders(t, db, db, c.to, c.shards)
		var want []string
		if c.day {
			want = wingtest.PutDay(t, from, 10)
		}
		for i := range 6 {
			it := placed("acme", i)
			it["id"] = wingtest.Str(fmt.Sprint(i))
			if want = append(want, wingtest.Text(it["id"])); from.Put(t.Context(), it, wingtest.Epoch) != nil {
				t.Fatal("not put")
			}
		}
		m := migrate.Migration{Client: db, From: from, To: to, Phase: migrate.WriteBoth}
		if _, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil {
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

// pagesOverPhases reads pages of one item, each in another phase than the one before.
func pagesOverPhases(t *testing.T, m migrate.Migration, desc bool) (got []string) {
	t.Helper()
	last := ""
	s := table.Span{Limit: 1, Desc: desc}
	for more := true; more; more = s.After != "" {
		page, err := m.Page(t.Context(), "acme", s, wingtest.Epoch)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			sort := wingtest.Text(it["placed"])
			if last != "" && sort != last && desc != (sort < last) {
				t.Errorf("desc %t: %s after %s", desc, sort, last)
			}
			got, last = append(got, wingtest.Text(it["id"])), sort
		}
		s.After, m.Phase = page.Next, migrate.WriteBoth+migrate.ReadNew-m.Phase // the one and the other
	}
	return got
}

// TestDropSeesWhoseTheNewItemIs: an old item stays when only another has its new place.
func TestDropSeesWhoseTheNewItemIs(t *testing.T) {
	db := enginetest.Client(t)
	from, to := wingtest.Orders(t, db, db, table.CalculatedSuffix{By: "id"}, 10), wingtest.Orders(t, db, db, table.CalculatedSuffix{By: "id"}, 1)
	want := wingtest.PutDay(t, from, 10)
	m := migrate.Migration{Client: db, From: from, To: to, Phase: migrate.WriteNew}
	it := wingtest.Order(0)
	it["id"] = wingtest.Str(want[2])
	if err := m.Put(t.Context(), it, wingtest.Epoch); err != nil {
		t.Fatal(err)
	}
	done, err := m.Drop(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil)
	if err != nil || done.Changed != 1 || done.Kept != len(want)-1 {
		t.Fatalf("%+v, %v", done, err)
	}
}

// TestStraysAreNotHidden: within one table an item where no layout puts it would be
// read no more, and is told of.
func TestStraysAreNotHidden(t *testing.T) {
	db := enginetest.Client(t)
	four := wingtest.Orders(t, db, db, table.CalculatedSuffix{}, 4)
	nine, six := *four, *four
	nine.Shards, six.Shards = table.Fixed(9), table.Fixed(6)
	for i := range 40 {
		if err := six.Put(t.Context(), placed("acme", i), wingtest.Epoch); err != nil {
			t.Fatal(err)
		}
	}
	m := migrate.Migration{Client: db, From: four, To: &nine}
	c, err := m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch)
	if err != nil || c.Extra == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	m.Phase = migrate.WriteBoth
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); !errors.Is(err, migrate.ErrExtra) {
		t.Fatal(err)
	}
	if done, err := m.Prune(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil || done.Changed != c.Extra {
		t.Fatalf("%+v, %v, want %d", done, err, c.Extra)
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); err != nil {
		t.Fatal(err)
	}
	if c, err := m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || !c.Equal() {
		t.Fatalf("%+v, %v", c, err)
	}
	m.From, m.To = &nine, four // a stray that only the old partitions have
	if err := six.Put(t.Context(), strayOf(t), wingtest.Epoch); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); !errors.Is(err, shard.ErrMisused) || !strings.Contains(err.Error(), "lost") {
		t.Fatal(err)
	}
}

// TestStraysOnTheFirstWriteShard: #0 is no place where items may lie when none is
// calculated to be there.
func TestStraysOnTheFirstWriteShard(t *testing.T) {
	db := enginetest.Client(t)
	for _, at := range []int{0, 2} {
		four := wingtest.Orders(t, db, db, table.CalculatedSuffix{}, 4)
		nine := *four
		nine.Shards = table.Fixed(9)
		strays := 0
		for i := range 40 {
			it := placed("acme", i)
			if sort := wingtest.Text(it["placed"]); shard.Calculated(sort, 4) == at || shard.Calculated(sort, 9) == at {
				continue
			}
			it["customer"] = wingtest.Str(fmt.Sprint("acme#", at))
			if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &four.Name, Item: it}); err != nil {
				t.Fatal(err)
			}
			strays++
		}
		m := migrate.Migration{Client: db, From: four, To: &nine}
		if c, err := m.Verify(t.Context(), "acme", table.Span{}, wingtest.Epoch); err != nil || c.Extra != strays {
			t.Fatalf("#%d: %+v, %v, want %d", at, c, err, strays)
		}
		m.Phase = migrate.WriteBoth
		if _, err := m.Copy(t.Context(), "acme", table.Span{}, wingtest.Epoch, nil); !errors.Is(err, migrate.ErrExtra) {
			t.Fatalf("#%d: %v", at, err)
		}
	}
}

// strayOf is an item that lies on write shard 4 or 5 of six, and on another of four and
// of nine.
func strayOf(t *testing.T) table.Item {
	t.Helper()
	for i := 40; ; i++ {
		sort := wingtest.Text(placed("acme", i)["placed"])
		if at := shard.Calculated(sort, 6); at >= 4 && at != shard.Calculated(sort, 9) {
			return placed("acme", i)
		}
	}
}
