package limits_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// limiter returns a Limiter with its own caches, like another process.
func (d *deployment) limiter(client limits.Client, o shard.Observer) *limits.Limiter {
	return limits.New(client, d.Names.Items, shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{}), limits.Options{Observer: o})
}

// hitter is a testing.T or a rapid.T.
type hitter interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

func mustHit(t hitter, l *limits.Limiter, limit limits.Limit, now time.Time) limits.Verdict {
	t.Helper()
	v, err := l.Hit(t.Context(), limit, now)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// used returns the sum of used over a window's items.
func (d *deployment) used(t *testing.T, limit limits.Limit, now time.Time, shards int) (sum int64) {
	t.Helper()
	for n := range shards {
		pk := fmt.Sprintf("R#%s#%d#%d#%d", limit.Key, limit.Window/time.Second, limit.Start(now).Unix(), n)
		it := d.Item(t, pk, "-")
		if used, ok := it["used"].(*types.AttributeValueMemberN); ok {
			var value int64
			if _, err := fmt.Sscan(used.Value, &value); err != nil {
				t.Fatal(err)
			}
			sum += value
		}
	}
	return sum
}

// TestGrowthAtWindowsBegin checks that a growth that takes effect at a window's begin divides the window's limit: hits on
// new write shards need no transfers.
func TestGrowthAtWindowsBegin(t *testing.T) {
	limit := limits.Limit{Key: "k", Max: 4000, Window: time.Minute}
	begin := limit.Start(libtest.Later)
	s := newStore(fmt.Sprintf("%d:4", begin.Unix()))
	l := s.limiter(nil)
	for range 40 {
		mustHit(t, l, limit, begin)
	}
	if got := s.reset(); got.transactions > 0 || len(s.used) < 2 {
		t.Errorf("%d transactions, hits on %d write shards; want no transaction and several write shards", got.transactions, len(s.used))
	}
}

// TestBoundsOfLimits checks the bounds of keys, hits and windows, and of the hits of a call, on both sides.
func TestBoundsOfLimits(t *testing.T) {
	l := newStore().limiter(nil)
	for _, c := range []struct {
		limit limits.Limit
		n     int64
		valid bool
	}{
		{limits.Limit{Key: "k", Max: 1, Window: time.Second}, 1, true}, {limits.Limit{Key: "k", Max: 1_000_000_000, Window: 720 * time.Hour}, 1_000_000_000, true},
		{limits.Limit{Max: 1, Window: time.Minute}, 1, false}, {limits.Limit{Key: "k", Window: time.Minute}, 1, false},
		{limits.Limit{Key: "k\xff", Max: 1, Window: time.Minute}, 1, false},
		{limits.Limit{Key: "k", Max: -1, Window: time.Minute}, 1, false}, {limits.Limit{Key: "k", Max: 1_000_000_001, Window: time.Minute}, 1, false},
		{limits.Limit{Key: "k", Max: 1}, 1, false}, {limits.Limit{Key: "k", Max: 1, Window: time.Second - 1}, 1, false},
		{limits.Limit{Key: "k", Max: 1, Window: 1500 * time.Millisecond}, 1, false}, {limits.Limit{Key: "k", Max: 1, Window: 720*time.Hour + time.Second}, 1, false},
		{limits.Limit{Key: "k", Max: 5, Window: time.Minute}, 5, true}, {limits.Limit{Key: "k", Max: 5, Window: time.Minute}, 6, true},
		{limits.Limit{Key: "k", Max: 5, Window: time.Minute}, 0, false}, {limits.Limit{Key: "k", Max: 5, Window: time.Minute}, math.MinInt64, true},
		{limits.Limit{Key: "k", Max: 5, Window: limits.Month}, 1, true}, {limits.Limit{Key: "k", Max: 5, Window: -2}, 1, false},
	} {
		if _, err := l.HitN(t.Context(), c.limit, c.n, libtest.Later); errors.Is(err, shard.ErrMisused) == c.valid || c.valid != (err == nil) {
			t.Errorf("%d hits of %+v: error %v, want ErrMisused: %t", c.n, c.limit, err, !c.valid)
		}
	}
	limit := limits.Limit{Key: "k", Max: 1, Window: time.Minute}
	_, _, keyed := l.HitTransact(t.Context(), []limits.Hits{{Limit: limits.Limit{Key: "k"}, N: 1}}, libtest.Later)
	_, early := l.Hit(t.Context(), limit, time.Time{})
	_, alone := limits.New(nil, "t", libtest.EmptyMap(), limits.Options{}).Hit(t.Context(), limit, libtest.Later)
	unread := enginetest.NewMapTable(10, 0, 0)
	unread.Down = func() error { return &types.ResourceNotFoundException{} }
	if v, err := limits.New(newStore(), "t", shardmap.New(unread, "m", shardmap.Options{}), limits.Options{}).Hit(t.Context(), limit, libtest.Later); !errors.Is(err, shard.ErrStale) {
		t.Errorf("without the shard map: %+v, %v", v, err)
	}
	for what, err := range map[string]error{"HitTransact": keyed, "the zero time": early, "no client": alone} {
		if !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: error %v, want ErrMisused", what, err)
		}
	}
}

// TestWindows checks that windows contain their times, follow each other and are aligned with the Unix epoch.
func TestWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := limits.Limit{Key: rapid.StringN(1, 5, 20).Draw(t, "key"), Max: 1, Window: time.Duration(rapid.IntRange(1, 720*3600).Draw(t, "s")) * time.Second}
		now := time.UnixMilli(rapid.Int64Range(1.7e12, 4e12).Draw(t, "now"))
		start := limit.Start(now)
		if start.After(now) || !now.Before(start.Add(limit.Window)) || start.Nanosecond() != 0 {
			t.Fatalf("%s is not in the window from %s", now, start)
		}
		if next := limit.Start(start.Add(limit.Window)); !next.Equal(start.Add(limit.Window)) {
			t.Fatalf("the window after %s begins at %s", start, next)
		}
		if limit.Start(now).Unix()%int64(limit.Window.Seconds()) != 0 {
			t.Fatalf("the window from %s is not aligned with the epoch", start)
		}
	})
}

// TestNeverMoreThanTheLimit checks I20 on the engine with concurrent processes, calls of one to three hits, throttles and
// lost answers, while the shard count changes before and within the window. Some calls also hit a limit of the month, which then
// must have the same hits, and give hits back.
func TestNeverMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	seed := require.Seed(t)
	d := deploy(t)
	for name, c := range map[string]struct {
		before, within []int // shard counts
		limit          int64
		faults         bool
		month          bool
	}{
		"more than hits":               {[]int{50}, nil, 20, false, false},
		"it grows twice":               {[]int{2}, []int{5, 20}, 200, false, false},
		"it grows and shrinks":         {[]int{3}, []int{12, 1}, 150, false, false},
		"one write shard, with faults": {nil, nil, 100, true, false},
		"it grows and shrinks, faults": {[]int{3}, []int{12, 4}, 100, true, false},
		"two limits":                   {nil, nil, 60, false, true},
		"two limits, it grows":         {[]int{2}, []int{9}, 100, false, true},
		"two limits, faults":           {[]int{3}, []int{12, 4}, 100, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			enough := c.limit >= 100 // hits for a fault of each kind
			c.limit /= int64(require.Runs(2, 1))
			flaky := &libtest.Flaky{Client: d.Client}
			if c.faults {
				flaky.Before, flaky.After = libtest.Sometimes(random, 6, libtest.Hot(libtest.TableHot)), libtest.Sometimes(random, 8, libtest.LostAnswer{})
			}
			s := &limitStorm{deployment: d, limit: limits.Limit{Key: name, Max: c.limit, Window: time.Hour}, now: libtest.Later, most: 3, gives: c.month && !c.faults}
			if c.month {
				s.month = []limits.Limit{{Key: name, Max: limits.MaxHits, Window: limits.Month}}
			}
			s.change(t, c.before...)
			s.now = libtest.Later.Add(time.Hour)
			for range 4 {
				s.processes = append(s.processes, d.limiter(libtest.Faulty{Flaky: flaky}, nil))
			}
			s.hit(t, c.limit/int64(2+len(c.within)))
			for _, n := range c.within {
				s.now = s.now.Add(5 * time.Minute)
				s.change(t, n)
				s.hit(t, c.limit/int64(2+len(c.within)))
			}
			s.gives = false
			for i := range s.processes { // the old ones may have cached a rejection before hits were given back
				s.processes[i] = d.limiter(libtest.Faulty{Flaky: flaky}, nil)
			}
			s.hit(t, c.limit)
			s.most = 1
			s.hit(t, c.limit/2+20) // also the rest, which is too little for three
			lost, allowed := 3*int64(flaky.Lost), s.allowed.Load()
			used := d.used(t, s.limit, s.now, slices.Max(append(c.before, append(c.within, 1)...)))
			if used != c.limit || allowed > c.limit || allowed < c.limit-lost || c.faults && enough && lost == 0 {
				t.Errorf("%d allowed and %d used, want %d; %d hits lost at most", allowed, used, c.limit, lost)
			}
			for _, month := range s.month {
				if got := d.used(t, month, s.now, 50); got != used {
					t.Errorf("%d hits of the month, and %d of the hour", got, used)
				}
			}
			fresh := d.limiter(d.Client, nil)
			if v := mustHit(t, fresh, s.limit, s.now); v.Allowed || v.Used != c.limit || v.Remaining != 0 {
				t.Errorf("a new process: %+v, want %d used and not allowed", v, c.limit)
			}
		})
	}
}

// limitStorm makes many hits of one limit.
type limitStorm struct {
	*deployment
	limit     limits.Limit
	now       time.Time
	processes []*limits.Limiter
	month     []limits.Limit // hit by each call, too
	gives     bool           // some calls are given back
	most      int64          // hits of a call
	allowed   atomic.Int64
}

// change sets the shard count to each of counts.
func (s *limitStorm) change(t *testing.T, counts ...int) {
	for _, n := range counts {
		if _, err := s.Changer(shardmap.ChangerOptions{}).Pin(libtest.Within(t), "R#"+s.limit.Key, n, libtest.Note, s.now); err != nil {
			t.Fatal(err)
		}
	}
}

// hit makes calls of 1 to most hits from all processes at the same time, until that many hits are answered.
func (s *limitStorm) hit(t *testing.T, hits int64) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(hits)
	for _, l := range s.processes {
		for range 3 {
			wg.Go(func() {
				for left.Load() > 0 {
					n := 1 + rand.Int64N(s.most)
					v, err := s.count(t, l, n)
					switch {
					case errors.Is(err, shard.ErrUnavailable), errors.Is(err, shard.ErrThrottled):
						continue
					case err != nil:
						t.Error(err)
						return
					case v.Used > s.limit.Max || v.Remaining != max(0, s.limit.Max-v.Used) || v.Allowed && v.Used < n || !s.gives && !v.Allowed && v.Remaining >= n:
						t.Errorf("invalid verdict %+v of %d hits of %+v", v, n, s.limit)
					case v.Allowed:
						s.allowed.Add(n)
						if s.gives && rand.IntN(4) == 0 {
							if back, err := s.count(t, l, -n); err != nil || !back.Allowed {
								t.Errorf("giving %d back: %+v, %v", n, back, err)
							}
							s.allowed.Add(-n)
						}
					}
					left.Add(-n)
				}
			})
		}
	}
	wg.Wait()
}

// count makes a call with hits of all limits, and returns the verdict of the first.
func (s *limitStorm) count(t *testing.T, l *limits.Limiter, n int64) (limits.Verdict, error) {
	hits := []limits.Hits{{Limit: s.limit, N: n}}
	for _, month := range s.month {
		hits = append(hits, limits.Hits{Limit: month, N: n})
	}
	list, err := l.HitAll(libtest.Within(t), hits, s.now)
	if err != nil {
		return limits.Verdict{}, err
	}
	return list[0], nil
}

// TestMaxChangesWithinWindow checks that a rising and falling Max never allows more than the highest one.
func TestMaxChangesWithinWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 4).Draw(t, "shards")
		s := newStore(fmt.Sprint("1:", shards))
		limit := limits.Limit{Key: "k", Window: time.Minute}
		processes := []*limits.Limiter{s.limiter(nil), s.limiter(nil)}
		highest, allowed := int64(0), int64(0)
		for range rapid.IntRange(1, 5).Draw(t, "limits") {
			limit.Max = int64(rapid.IntRange(1, 12).Draw(t, "max"))
			highest = max(highest, limit.Max)
			before := allowed
			for range 15 {
				if mustHit(t, processes[rapid.IntRange(0, 1).Draw(t, "process")], limit, libtest.Later).Allowed {
					allowed++
				}
			}
			switch got := allowed - before; {
			case limit.Max == highest && allowed != highest:
				t.Fatalf("%d allowed in all, want the highest Max of %d", allowed, highest)
			case shards == 1 && before >= limit.Max && got > 0, got > limit.Max, allowed > highest:
				t.Fatalf("%d more allowed with a Max of %d after %d hits", got, limit.Max, before)
			}
		}
	})
}

// TestHitsAreGivenBackOnce checks that a call which may have given hits back makes no further attempt: that would allow more
// hits than the limit.
func TestHitsAreGivenBackOnce(t *testing.T) {
	limit := limits.Limit{Key: "k", Max: 10, Window: time.Minute}
	it := dynamo.Key(fmt.Sprintf("R#k#60#%d#0", limit.Start(libtest.Later).Unix()), "-")
	it["used"], it["hits"] = libtest.Num(5), libtest.Num(5)
	client := &libtest.Scripted{Updates: []error{libtest.LostAnswer{}}, Items: []dynamo.Item{it}}
	v, err := limits.New(client, "t", libtest.EmptyMap(), limits.Options{}).HitN(t.Context(), limit, -2, libtest.Later)
	if !errors.Is(err, shard.ErrUnavailable) || len(client.Updated) != 1 {
		t.Errorf("%+v, %v after %d updates, want ErrUnavailable after 1", v, err, len(client.Updated))
	}
}
