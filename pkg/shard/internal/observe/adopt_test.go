package observe_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestAWriteGoesOnByWhatItsObserverAdopted checks that the next attempt of a call goes by the count
// and version that the observer of the one before has put into the view.
func TestAWriteGoesOnByWhatItsObserverAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := mapfake.New(10, 0, 0)
		shards, now := shardmap.New(table, "m", shardmap.Options{}), time.Now()
		changer := shardmap.NewChanger(table, shards, shardmap.ChangerOptions{})
		if _, err := shards.Lookup(t.Context(), "C#a", now); err != nil {
			t.Fatal(err)
		}
		grow := func(key string) func() {
			return func() {
				_, _ = libtest.Grow(t.Context(), changer, key, 64, now) // the second refusal finds it grown
			}
		}
		full := func() []error {
			return []error{libtest.ThrottledFor(libtest.PartitionFull), libtest.ThrottledFor(libtest.PartitionFull)}
		}
		w := &libtest.Listener{Act: grow("C#a")}
		if err := counters.NewWriter(&libtest.Scripted{Updates: full()}, "t", shards, counters.Options{Observer: w}).Add(t.Context(), "a", 1, now); err != nil {
			t.Fatal(err)
		}
		limited := &libtest.Listener{Act: grow("R#k")}
		l := limits.New(&libtest.Scripted{Updates: full()}, "t", shards, limits.Options{Observer: limited})
		if _, err := l.Hit(t.Context(), limits.Limit{Key: "k", Max: 1000, Window: 720 * time.Hour}, now); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*libtest.Listener{w, limited} {
			if first, last := w.Attempts[0], w.Attempts[len(w.Attempts)-1]; first.Version != 0 || last.Version != 1 || last.Shard == 0 && w.Attempts[1].Shard == 0 {
				t.Errorf("observed %+v", w.Attempts)
			}
		}
	})
}
