package limits_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/limits"
)

// TestHitsAreObserved checks that observers get each request, its attempts and their throttles, and that a throttled hit
// goes to another write shard.
func TestHitsAreObserved(t *testing.T) {
	for name, c := range map[string]struct {
		history  []string
		used     int64 // by another process, of the first write shard
		hits     int
		max      int64
		throttle error // of the first attempts
		times    int
		accepted int
		refused  int // throttled write shards, at least
		requests int
	}{
		"allowed":                 {nil, 0, 3, 5, nil, 0, 3, 0, 3},
		"known to be full":        {nil, 0, 5, 2, nil, 0, 2, 0, 2},
		"full by another process": {nil, 2, 5, 2, nil, 0, 1, 0, 1},
		"hot":                     {nil, 0, 1, 5, libtest.Hot(libtest.TableHot), 3, 1, 1, 1},
		"hot on several":          {[]string{"1:8"}, 0, 1, 800, libtest.Hot(libtest.TableHot), 9, 1, 2, 1},
		"throttled by the table":  {nil, 0, 1, 5, libtest.Hot("TableWriteAccountLimitExceeded"), 3, 1, 0, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, s := &libtest.Listener{}, newStore(c.history...)
			s.set(c.used)
			s.before = func() error {
				if c.times--; c.times >= 0 {
					return c.throttle
				}
				return nil
			}
			l := s.limiter(w)
			for range c.hits {
				mustHit(t, l, limits.Limit{Key: "k", Max: c.max, Window: 24 * time.Hour}, libtest.Later)
			}
			accepted, requests, refused := 0, map[uint64]bool{}, map[int]bool{}
			for _, a := range w.Attempts {
				requests[a.Call] = true
				if a.Outcome == shard.Accepted {
					accepted++
				} else {
					refused[a.Shard] = true
				}
			}
			if got := len(refused); len(requests) != c.requests || accepted != c.accepted || got < c.refused || c.refused == 0 && got > 0 {
				t.Errorf("%s: %d requests, attempts %+v; want %d requests, %d accepted, %d throttled write shards", name, len(requests), w.Attempts, c.requests, c.accepted, c.refused)
			}
		})
	}
}
