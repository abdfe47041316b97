package table_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestSimilarNamesAreSeparate puts items of names that resemble each other's keys into an adopted table with three write
// shards. Put and Query reject a name, or its range has its own items only.
func TestSimilarNamesAreSeparate(t *testing.T) {
	db := enginetest.Client(t)
	names := []string{"a", "a#1", "a#01", "a#SHARD_1", "a#SHARD_", "a#2026-01-05", "a#2026-01-05#1", "a#", strings.Repeat("x", 2048)}
	rejected := map[shard.Format][]string{
		shard.Hash: {"a#1", "a#2026-01-05#1", names[8]}, shard.HashShard: {"a#SHARD_1", names[8]},
	}
	for format := range rejected {
		for what, layout := range plainLayouts {
			orders := plain(db, libtest.Theirs(t, db, "S"), layout, table.Fixed(3))
			orders.Format = format
			want := map[string][]string{}
			for _, name := range names {
				for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
					it := table.Item{"customer": libtest.Str(name), "placed": libtest.Str("2026-01-05T10:00:0" + id + ".000Z#" + name[:1] + id), "id": libtest.Str(name[:1] + id), "of": libtest.Str(name)}
					err := orders.Put(t.Context(), it, libtest.Epoch)
					if errors.Is(err, shard.ErrMisused) != slices.Contains(rejected[format], name) || err != nil && !errors.Is(err, shard.ErrMisused) {
						t.Errorf("%s, %s: Put of %.20q: %v, want ErrMisused: %t", format, what, name, err, slices.Contains(rejected[format], name))
					}
					if err == nil {
						want[name] = append(want[name], id)
					}
				}
			}
			for _, name := range names {
				n := 0
				for it, err := range orders.Query(t.Context(), name, day, libtest.Epoch) {
					if errors.Is(err, shard.ErrMisused) && want[name] == nil {
						break
					}
					if n++; err != nil || libtest.Text(it["of"]) != name {
						t.Errorf("%s, %s, %.20q: an item of %.20q, %v", format, what, name, libtest.Text(it["of"]), err)
					}
				}
				if n != len(want[name]) {
					t.Errorf("%s, %s, %.20q: %d items, want %d", format, what, name, n, len(want[name]))
				}
			}
		}
	}
}
