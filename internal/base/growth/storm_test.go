package growth

import (
	"flag"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
)

// want is the bounds of a storm's result.
type want struct {
	accepted float64       // percent of the requests, at least
	calm     time.Duration // see [result], at most
	most     int           // write shards, at most
	quiet    int           // other keys that grew, at most
}

var seeds = flag.Int("seeds", 3, "seeds of each storm of TestStorms, unless -short")

// TestStorms simulates storms, see [storm], and checks their results against bounds that have some margin. It logs the
// results.
func TestStorms(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		storm
		want
	}{
		"counter 10x, 50 containers":          {storm{rate: 500, quota: 50}, want{98.5, 2 * s, 64, 0}},
		"counter 10x, 500 containers":         {storm{rate: 500, quota: 500}, want{99.9, 0, 64, 0}},
		"counter 3x, 50 containers":           {storm{rate: 150, quota: 50}, want{99, 2 * s, 16, 0}},
		"counter 1.5x, 50 containers":         {storm{rate: 75, quota: 50}, want{99.5, 1 * s, 16, 0}},
		"counter 10x after a minute at 0.8x":  {storm{rate: 500, quota: 50, warm: 40, begin: 60 * s, lasting: 82 * s}, want{98.5, 3 * s, 64, 0}},
		"counter at 0.9x":                     {storm{rate: 20, quota: 50, lasting: 2 * time.Minute}, want{100, 0, 1, 0}},
		"events at 0.9x":                      {storm{placement: schema.TimedPlacement, rate: 20, quota: 50, lead: 5 * s, lasting: 2 * time.Minute}, want{100, 0, 1, 0}},
		"counter 10x on 4 partitions":         {storm{rate: 500, quota: 500, partitions: 4, lasting: 15 * s}, want{35, 17 * s, 16, 0}},
		"events 10x, lead 5 s":                {storm{placement: schema.TimedPlacement, rate: 500, quota: 500, lead: 5 * s, lasting: 43 * s}, want{86, 18 * s, 64, 0}},
		"events 10x, lead 5 s, 50 containers": {storm{placement: schema.TimedPlacement, rate: 500, quota: 50, lead: 5 * s, lasting: 43 * s}, want{84, 18 * s, 64, 0}},
		"events 3x, lead 5 s, 50 containers":  {storm{placement: schema.TimedPlacement, rate: 150, quota: 50, lead: 5 * s, lasting: 43 * s}, want{88, 14 * s, 24, 0}},
		"one event again and again, 2x":       {storm{placement: schema.TimedPlacement, rate: 100, quota: 50, lead: 5 * s, one: true}, want{0, time.Minute, 64, 0}}, // grows for the other events of its partition
		"a backfill, 10x":                     {storm{placement: schema.TimedPlacement, rate: 500, quota: 50, lead: 5 * s, past: true}, want{0, time.Minute, 1, 0}},
		"counter 10x, an hour after another":  {storm{rate: 500, quota: 50, warm: 1, quietRate: 1, again: time.Hour}, want{99.9, 0, 1, 0}},
		"counter 10x, shrunk for an hour":     {storm{rate: 500, quota: 50, warm: 1, quietRate: 1, again: time.Hour, shrunk: true}, want{97.5, 3 * s, 64, 0}},
		"events 10x, an hour after another":   {storm{placement: schema.TimedPlacement, rate: 500, quota: 50, lead: 5 * s, lasting: 43 * s, warm: 1, quietRate: 1, again: time.Hour}, want{99, 2 * s, 1, 0}},
		"events 10x, shrunk for an hour":      {storm{placement: schema.TimedPlacement, rate: 500, quota: 50, lead: 5 * s, lasting: 43 * s, warm: 1, quietRate: 1, again: time.Hour, shrunk: true}, want{84, 18 * s, 64, 0}},
		"50 quiet keys on 4 partitions":       {storm{rate: 500, quota: 200, partitions: 4, quiet: 50, quietRate: 150}, want{25, time.Minute, 16, 4}},
		"50 quiet keys on 16 partitions":      {storm{rate: 500, quota: 200, partitions: 16, quiet: 50, quietRate: 150}, want{98, 4 * s, 64, 12}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range require.UnlessShort(*seeds, 1) {
				got := c.run(uint64(seed))
				t.Logf("seed %d: %v", seed, got)
				if got.percent(got.accepted) < c.accepted || got.calm > c.calm || got.count() > c.most || got.quietGrown > c.want.quiet {
					t.Errorf("seed %d: %v; want %+v", seed, got, c.want)
				}
			}
		})
	}
}

// count returns the key's last shard count.
func (r result) count() int {
	if len(r.steps) == 0 {
		return 1
	}
	return r.steps[len(r.steps)-1]
}
