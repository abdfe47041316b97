package once

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestKeyIsProbedOncePerSecond checks that a key is probed once a second, and that the result is used for all throttles of
// this second. The probe is in the table of the writes.
func TestKeyIsProbedOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for probe, want := range map[error]bool{libtest.Hot(libtest.TableHot): true, libtest.Hot("TableWriteAccountLimitExceeded"): false, nil: false} {
			client, w, shards := &libtest.Scripted{Probe: probe}, &libtest.Listener{}, libtest.EmptyMap()
			try := &callAttempts{Applier: New(client, "t", Options{Observer: w}), observed: observe.Begin(w)}
			c := counters.NewWriter(nil, "items", shards, counters.Options{})
			for range 20 { // in two seconds
				writes := []shardmap.Write{c.AddTransact(t.Context(), "a", 1, time.Now()), c.AddTransact(t.Context(), "b", 1, time.Now())}
				try.observe(t.Context(), writes, libtest.CanceledFor("ThrottlingError", "ProvisionedThroughputExceeded", "None"))
				time.Sleep(100 * time.Millisecond)
			}
			if len(client.Probed) != 2*2 || *client.Probed[0].TableName != "items" {
				t.Errorf("%v: %d probes in two seconds for two keys, the first of %+v", probe, len(client.Probed), client.Probed[0])
			}
			if got := len(w.Outcomes("C#a")); got != 20 && want || got != 0 && !want {
				t.Errorf("%v: observed %d of 20 throttles, want all: %t", probe, got, want)
			}
		}
	})
}

// TestMarkerFailed checks in which cases a transaction was canceled for its marker, which is the last action.
func TestMarkerFailed(t *testing.T) {
	for code, want := range map[string]bool{"None": false, "ThrottlingError": false, "TransactionConflict": true, "ConditionalCheckFailed": true} {
		if got := markerFailed(libtest.CanceledFor("None", code), 1); got != want {
			t.Errorf("%s: %t, want %t", code, got, want)
		}
	}
	if markerFailed(libtest.CanceledFor("TransactionConflict"), 1) || markerFailed(libtest.LostAnswer{}, 0) || markerFailed(nil, 0) {
		t.Error("markerFailed = true without a reason of the marker")
	}
}
