package migrate_test

import (
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/migrate"
	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestCostOfMigrations bounds the read and write units of Copy and Verify for each item of nearly 4 KB.
func TestCostOfMigrations(t *testing.T) {
	t.Parallel()
	d := libtest.Deploy(t)
	client, limits := d.Limited(t, throttle.Options{Partitions: 64, PartitionWCU: 100_000})
	const items = 60
	for name, inPlace := range map[string]bool{"two tables": false, "one table": true} {
		from, to := libtest.Orders(t, client, d.Client, table.CalculatedSuffix{}, 4), libtest.Orders(t, client, d.Client, table.CalculatedSuffix{}, 4)
		if to.Format = "_"; inPlace {
			to.Name = from.Name
		}
		for i := range items {
			it := placed("acme", i)
			it["filler"] = libtest.Str(strings.Repeat("x", 3900))
			if err := from.Put(t.Context(), it, libtest.Epoch); err != nil {
				t.Fatal(err)
			}
		}
		m := migrate.Migration{Client: client, From: from, To: to, Phase: migrate.WriteBoth}
		cost := func(what string, reads, writes float64, do func() error) {
			t.Helper()
			limits.Reset()
			if err := do(); err != nil {
				t.Fatal(err)
			}
			s := limits.Stats()
			if r, w := s.ReadUnits/items, s.WriteUnits/items; r > reads || w > writes {
				t.Errorf("%s, %s: %.2f read units and %.2f write units, want at most %v and %v", name, what, r, w, reads, writes)
			}
		}
		copying := func() error { _, err := m.Copy(t.Context(), "acme", table.Span{}, libtest.Epoch, nil); return err }
		cost("a copy of missing items", 3.3, 16.1, copying)
		cost("a copy of equal items", 4.3, 0, copying)
		cost("a comparison", 4.3, 0, func() error { _, err := m.Verify(t.Context(), "acme", table.Span{}, libtest.Epoch); return err })
	}
}
