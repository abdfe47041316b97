package watching_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/mapfake"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestProbesAreRare: at most one a second and key, whose outcome stands for all of the
// key's throttles of that second.
func TestProbesAreRare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for probe, want := range map[error]bool{wingtest.ThrottledFor(wingtest.PartitionFull): true, wingtest.ThrottledFor("TableWriteAccountLimitExceeded"): false, nil: false} {
			client, w, shards := &wingtest.Scripted{Probe: probe}, &wingtest.Listener{}, wingtest.EmptyMap()
			told := watching.New(client, "t", shards, w)
			c := counters.NewWriter(nil, "t", shards, counters.Options{})
			for range 20 { // in two seconds
				writes := []types.TransactWriteItem{c.AddTransact(t.Context(), "a", 1, time.Now()), c.AddTransact(t.Context(), "b", 1, time.Now())}
				loads, _ := told.Loads(t.Context(), writes, 1, time.Now())
				told.Told(t.Context(), loads, wingtest.CanceledFor("ThrottlingError", "ProvisionedThroughputExceeded", "None"))
				time.Sleep(100 * time.Millisecond)
			}
			if client.Probes != 2*2 {
				t.Errorf("%v: %d probes in two seconds for two keys", probe, client.Probes)
			}
			if got := len(w.Outcomes("C#a")); got != 20 && want || got != 0 && !want {
				t.Errorf("%v: told of %d of 20 throttles", probe, got)
			}
		}
	})
}

// TestAWriteGoesOnByWhatItsWatcherAdopted: the next attempt of the same call, by the count
// and version of then.
func TestAWriteGoesOnByWhatItsWatcherAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := mapfake.New(10, 0, 0)
		shards, now := shardmap.New(table, "m", shardmap.Options{}), time.Now()
		changer := shardmap.NewChanger(table, shards, shardmap.ChangerOptions{})
		if _, err := shards.Lookup(t.Context(), "C#a", now); err != nil {
			t.Fatal(err)
		}
		grow := func(key string) func() {
			return func() {
				_, _ = changer.Grow(t.Context(), key, 64, shardmap.Note{}, now) // the second refusal finds it grown
			}
		}
		full := func() []error {
			return []error{wingtest.ThrottledFor(wingtest.PartitionFull), wingtest.ThrottledFor(wingtest.PartitionFull)}
		}
		w := &wingtest.Listener{Act: grow("C#a")}
		if err := counters.NewWriter(&wingtest.Scripted{Updates: full()}, "t", shards, counters.Options{Watch: w}).Add(t.Context(), "a", 1, now); err != nil {
			t.Fatal(err)
		}
		limited := &wingtest.Listener{Act: grow("R#k")}
		l := limits.New(&wingtest.Scripted{Updates: full()}, "t", shards, limits.Options{Watch: limited})
		if _, err := l.Hit(t.Context(), limits.Limit{Key: "k", Max: 1000, Window: 720 * time.Hour}, now); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*wingtest.Listener{w, limited} {
			if first, last := w.Attempts[0], w.Attempts[len(w.Attempts)-1]; first.Entry.Version != 0 || last.Entry.Version != 1 || last.Shard == 0 && w.Attempts[1].Shard == 0 {
				t.Errorf("told of %+v", w.Attempts)
			}
		}
	})
}
