package watching

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestDonorsSayNothing: a limit that has grown within its window has others take over room
// from its first write shards, and those are met by more the more it grows.
func TestDonorsSayNothing(t *testing.T) {
	start := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	at := func(n int) dynamo.Item {
		base := schema.BaseKey{Type: schema.Limit, Name: "login"}
		return dynamo.Key(schema.Key{Base: base, Bucket: schema.LimitBucket(start, time.Hour), Shard: n}.String(), schema.SoleSK)
	}
	for name, c := range map[string]struct {
		grown time.Time
		shard int
		tells bool
	}{
		"a first write shard of a limit that grew":  {start.Add(time.Minute), 0, false},
		"a new write shard":                         {start.Add(time.Minute), 1, true},
		"a limit that grew before the window":       {start.Add(-time.Minute), 0, true},
		"a write shard of a window that it grew in": {start.Add(time.Minute), 3, true},
	} {
		l, ok := tableLoad(at(c.shard), start.Add(2*time.Minute))
		l.Entry = shardmap.Entry{Key: "R#login", History: shard.History{{At: c.grown, Count: 4}}}
		if !ok || l.gives() == c.tells {
			t.Errorf("%s: it gives room: %v", name, l.gives())
		}
	}
}
