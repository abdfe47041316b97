package watching

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/wingtest"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestProbesAreFew: of more keys a second than that nothing is learned.
func TestProbesAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &wingtest.Scripted{Probe: wingtest.ThrottledFor(wingtest.PartitionFull)}
		told := New(client, "t", wingtest.EmptyMap(), &wingtest.Listener{})
		for i := range maxProbed + 10 {
			told.full(t.Context(), load{Attempt: shardmap.Attempt{Key: string(rune(i))}, probe: dynamo.Item{}})
		}
		if client.Probes != maxProbed || len(told.probed) != maxProbed {
			t.Errorf("%d probes, %d keys", client.Probes, len(told.probed))
		}
		time.Sleep(probeAge)
		if !told.full(t.Context(), load{Attempt: shardmap.Attempt{Key: "later"}, probe: dynamo.Item{}}) || len(told.probed) != 1 {
			t.Errorf("a second later there are %d keys", len(told.probed))
		}
	})
}
