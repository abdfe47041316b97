package grow_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestCalmKeysFindContainers checks that a key at ten times its partition's limit leaves containers to a thousand other
// keys: of a quota of 100, at most 1 % of the other keys' 250 calls a second find none, in a minute. Each container takes
// one call at a time, and starts in 250 ms. A key that is pinned to one write shard never gets more capacity. If its
// calls wait for their deadline, as without [grow.Grower.Hopeless], they take most containers.
func TestCalmKeysFindContainers(t *testing.T) {
	for name, c := range map[string]struct {
		pinned, waits bool
	}{
		"a key that grows":          {},
		"a pinned key":              {pinned: true},
		"a key that grows, waiting": {waits: true},
		"a pinned key, waiting":     {pinned: true, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				none := calm(t, c.pinned, c.waits)
				if !c.waits && none > 1 {
					t.Errorf("%.2f %% of the calls of calm keys found no container, want at most 1 %%", none)
				}
				if c.waits && c.pinned && none < 10 {
					t.Errorf("%.2f %% of the calls of calm keys found no container although throttled calls wait: this model shows nothing", none)
				}
			})
		})
	}
}

// waiting hides what its observer knows.
type waiting struct{ shard.Observer }

// calm runs a minute, and returns which percentage of the calm keys' calls found no container.
func calm(t *testing.T, pinned, waits bool) (none float64) {
	const seconds, hot, other, keys, containers, coldStart = 60, 200, 250, 1000, 100, 250 * time.Millisecond
	s, shardMap := newStored(1), enginetest.NewMapTable(100, 0, 5*time.Millisecond)
	if pinned {
		changer := libtest.Patient(shardmap.NewChanger(shardMap, shardmap.New(shardMap, "map", shardmap.Options{}), shardmap.ChangerOptions{}))
		if _, err := changer.Pin(t.Context(), "clicks/hot", 1, libtest.Note, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var idle []*program // the most recently used one is last
	started := 0
	acquire := func() (p *program, cold, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if n := len(idle); n > 0 {
			p, idle = idle[n-1], idle[:n-1]
			return p, false, true
		}
		if started == containers {
			return nil, false, false
		}
		started++
		p = newProgram(t, s, shardMap, nil, false)
		if waits {
			p.clicks.Observer = waiting{p.clicks.Observer}
		}
		return p, true, true
	}
	var requests sync.WaitGroup
	var accepted, throttled, lacked [2]atomic.Int64 // of calm keys, and of the hot one
	var inUse time.Duration
	call := func(of int, key string) {
		p, cold, ok := acquire()
		if !ok {
			lacked[of].Add(1)
			return
		}
		requests.Go(func() {
			begin := time.Now()
			if cold {
				time.Sleep(coldStart)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			switch err := p.clicks.Add(ctx, key, 1, time.Now()); {
			case err == nil:
				accepted[of].Add(1)
			case errors.Is(err, shard.ErrThrottled):
				throttled[of].Add(1)
			default:
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			inUse += time.Since(begin)
			idle = append(idle, p)
		})
	}
	for i := range seconds * (hot + other) {
		time.Sleep(time.Second / (hot + other))
		if i%(hot+other)*hot%(hot+other) < hot {
			call(1, "hot")
		} else {
			call(0, fmt.Sprint("calm-", i*7919%keys))
		}
	}
	requests.Wait()
	percent := func(n *[2]atomic.Int64, of int) float64 {
		return 100 * float64(n[of].Load()) / float64(accepted[of].Load()+throttled[of].Load()+lacked[of].Load())
	}
	for of, what := range []string{"calm keys", "the hot key"} {
		t.Logf("%s: accepted %.2f %%, throttled %.2f %%, no container %.2f %%", what, percent(&accepted, of), percent(&throttled, of), percent(&lacked, of))
	}
	t.Logf("%d containers started, %.1f in use on average", started, inUse.Seconds()/seconds)
	return percent(&lacked, 0)
}
