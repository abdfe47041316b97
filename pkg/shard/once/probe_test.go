package once

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestKeyIsProbedOncePerSecond checks that a key is probed once a second, and that the result is used for all throttles of
// this second.
func TestKeyIsProbedOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for probe, want := range map[error]bool{libtest.Hot(libtest.TableHot): true, libtest.Hot("TableWriteAccountLimitExceeded"): false, nil: false} {
			client, w, shards := &libtest.Scripted{Probe: probe}, &libtest.Listener{}, libtest.EmptyMap()
			try := &onceTry{Applier: New(client, "t", Options{Observer: w}), observed: observe.Begin(w)}
			c := counters.NewWriter(nil, "t", shards, counters.Options{})
			for range 20 { // in two seconds
				writes := []shardmap.Write{c.AddTransact(t.Context(), "a", 1, time.Now()), c.AddTransact(t.Context(), "b", 1, time.Now())}
				try.observe(t.Context(), writes, libtest.CanceledFor("ThrottlingError", "ProvisionedThroughputExceeded", "None"))
				time.Sleep(100 * time.Millisecond)
			}
			if client.Probes != 2*2 {
				t.Errorf("%v: %d probes in two seconds for two keys", probe, client.Probes)
			}
			if got := len(w.Outcomes("C#a")); got != 20 && want || got != 0 && !want {
				t.Errorf("%v: observed %d of 20 throttles, want all: %t", probe, got, want)
			}
		}
	})
}

// TestProbesPerSecondAreBounded checks that at most maxProbed keys are probed in a second.
func TestProbesPerSecondAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &libtest.Scripted{Probe: libtest.Hot(libtest.TableHot)}
		p := &probes{client: client, table: "t"}
		write := func(key string) shardmap.Write {
			return shardmap.Write{Attempt: shard.Attempt{Key: key}, Probe: dynamo.Item{}}
		}
		for i := range maxProbed + 10 {
			p.full(t.Context(), write("C#"+string(rune(i))))
		}
		if client.Probes != maxProbed || len(p.probed) != maxProbed {
			t.Errorf("%d probes, %d keys; want %d", client.Probes, len(p.probed), maxProbed)
		}
		time.Sleep(probeAge)
		if !p.full(t.Context(), write("C#later")) || len(p.probed) != 1 {
			t.Errorf("a second later %d keys are cached, want 1", len(p.probed))
		}
	})
}
