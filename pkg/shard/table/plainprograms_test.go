package table_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestProgramsWithoutTheLibrary checks docs/adopt.md for a name with four write shards. Programs without the library miss
// items, and ranges of the library contain the items that they write. Get finds such an item only on write shard 0. With
// 100 items of the library, a random suffix leaves write shard 0 empty, or takes all of them there, once in 10^12 runs.
func TestProgramsWithoutTheLibrary(t *testing.T) {
	db := enginetest.Client(t)
	for what, layout := range plainLayouts {
		orders := plain(db, libtest.Theirs(t, db, "S"), layout, table.Fixed(4))
		key := plainKey(what)
		theirs := *orders // the table of a program without the library
		theirs.Layout, theirs.Shards = table.RandomSuffix{}, table.Fixed(1)
		order := func(pk string, i int) table.Item {
			return table.Item{"customer": libtest.Str(pk), "placed": libtest.Str(fmt.Sprintf("2026-01-05T10:%02d:%02d.000Z", i/60, i%60)), "id": libtest.Str(fmt.Sprint("order-", i))}
		}
		var want []string
		for i := range 120 {
			put := func() error { return orders.Put(t.Context(), order("acme", i), libtest.Epoch) }
			if i >= 100 {
				put = func() error {
					_, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &orders.Name, Item: order(key, i)})
					return err
				}
			}
			if err := put(); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint("order-", i))
		}
		if got := idsOf(t, orders, day); !slices.Equal(got, want) {
			t.Errorf("%s: the range has %v, want %v", what, got, want)
		}
		n, err := theirs.Count(t.Context(), key, table.Span{}, libtest.Epoch)
		if err != nil || n <= 20 || n >= 120 {
			t.Errorf("%s: a program without the library counts %d of 120, %v; want 21 to 119", what, n, err)
		}
		if what == "random" || what == "buckets" {
			continue
		}
		found := 0
		for i := 100; i < 120; i++ {
			_, err := orders.Get(t.Context(), order("acme", i), libtest.Epoch)
			if err == nil {
				found++
			} else if !errors.Is(err, shard.ErrNotFound) {
				t.Error(err)
			}
		}
		if found == 0 || found == 20 {
			t.Errorf("%s: Get finds %d of the other program's 20 items, want 1 to 19", what, found)
		}
	}
}
