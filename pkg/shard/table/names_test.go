package table_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestSimilarNamesAreSeparate puts items of names that resemble each other's keys into an adopted table with three write
// shards. Put and Query reject a name, or it has three partition keys of its own, and Query reads those that Put writes.
func TestSimilarNamesAreSeparate(t *testing.T) {
	names := []string{"a", "a#1", "a#01", "a#SHARD_1", "a#SHARD_", "a#2026-01-05", "a#2026-01-05#1", "a#", strings.Repeat("x", 2048)}
	rejected := map[shard.Format][]string{
		shard.Hash: {"a#1", "a#2026-01-05#1", names[8]}, shard.HashShard: {"a#SHARD_1", names[8]},
	}
	for format := range rejected {
		for what, layout := range plainLayouts {
			of := map[string]string{} // names by partition key
			for _, name := range names {
				client := &asked{Client: empty{}}
				orders := plain(client, "orders", layout, table.Fixed(3))
				orders.Format = format
				var err error
				for i := range 60 {
					id := string(rune('0' + i))
					it := table.Item{"customer": libtest.Str(name), "placed": libtest.Str("2026-01-05T10:00:00.000Z#" + id), "id": libtest.Str(id)}
					err = errors.Join(err, orders.Put(t.Context(), it, libtest.Epoch))
				}
				put := sorted(client.keys)
				client.keys = nil
				for _, queryErr := range orders.Query(t.Context(), name, day, libtest.Epoch) {
					err = errors.Join(err, queryErr)
				}
				want := 3
				if slices.Contains(rejected[format], name) {
					want = 0
				}
				if read := sorted(client.keys); errors.Is(err, shard.ErrMisused) != (want == 0) || len(put) != want || !slices.Equal(read, put) {
					t.Errorf("%s, %s, %.20q: puts into %q, reads %q, %v; want %d", format, what, name, put, read, err, want)
				}
				for _, key := range put {
					if another, is := of[key]; is {
						t.Errorf("%s, %s: %q has the key %q of %q", format, what, name, key, another)
					}
					of[key] = name
				}
			}
		}
	}
}

// sorted returns the distinct partition keys of some calls.
func sorted(calls []string) []string {
	keys := map[string]bool{}
	for _, call := range calls {
		_, key, _ := strings.Cut(call, " ")
		keys[key] = true
	}
	return slices.Sorted(maps.Keys(keys))
}
