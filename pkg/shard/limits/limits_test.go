package limits_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
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
func (d *deployment) used(t *testing.T, l *limits.Limiter, limit limits.Limit, now time.Time, shards int) (sum int64) {
	t.Helper()
	for n := range shards {
		pk := fmt.Sprintf("R#%s#%d#%d#%d", limit.Key, int(limit.Window.Seconds()), l.Start(limit, now).Unix(), n)
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

// TestALimitOfOneWriteShard checks the verdicts of two processes, and that windows are separate.
func TestALimitOfOneWriteShard(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	l, limit := d.limiter(d.Client, nil), limits.Limit{Key: "a#1#2", Max: 3, Window: time.Minute}
	now := libtest.Later.Add(17 * time.Second)
	for i, want := range []limits.Verdict{{true, 1, 2, libtest.Later.Add(time.Minute)}, {true, 2, 1, libtest.Later.Add(time.Minute)},
		{true, 3, 0, libtest.Later.Add(time.Minute)}, {false, 3, 0, libtest.Later.Add(time.Minute)}, {false, 3, 0, libtest.Later.Add(time.Minute)}} {
		if got := mustHit(t, l, limit, now); got != want {
			t.Errorf("hit %d: %+v, want %+v", i, got, want)
		}
	}
	if got := mustHit(t, d.limiter(d.Client, nil), limit, now); got.Allowed || got.Used != 3 {
		t.Errorf("another process: %+v, want 3 used and not allowed", got)
	}
	if n := d.used(t, l, limit, now, 1); n != 3 {
		t.Errorf("%d used after rejected hits, want 3", n)
	}
	if got := mustHit(t, l, limit, libtest.Later.Add(time.Minute)); !got.Allowed || got.Used != 1 {
		t.Errorf("the next window: %+v, want 1 used", got)
	}
	limit.Window = 30 * time.Second
	if got := mustHit(t, l, limit, now); !got.Allowed || got.Used != 1 || !got.Resets.Equal(libtest.Later.Add(30*time.Second)) {
		t.Errorf("a window of 30 s: %+v, want 1 used", got)
	}
}

// TestInvalidLimitsAreRejected checks the bounds of keys, hits and windows.
func TestInvalidLimitsAreRejected(t *testing.T) {
	l := deploy(t).limiter(nil, nil)
	for _, limit := range []limits.Limit{
		{"", 1, time.Minute}, {"k", 0, time.Minute}, {"k", -1, time.Minute}, {"k", limits.MaxHits + 1, time.Minute},
		{"k", 1, 0}, {"k", 1, time.Second - 1}, {"k", 1, 1500 * time.Millisecond}, {"k", 1, limits.MaxWindow + time.Second},
	} {
		if _, err := l.Hit(t.Context(), limit, libtest.Later); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%+v: error %v, want ErrMisused", limit, err)
		}
	}
}

// TestWindows checks that windows contain their times, follow each other and are aligned with the Unix epoch.
func TestWindows(t *testing.T) {
	d := deploy(t)
	plain := d.limiter(nil, nil)
	rapid.Check(t, func(t *rapid.T) {
		limit := limits.Limit{Key: rapid.StringN(1, 5, 20).Draw(t, "key"), Max: 1, Window: time.Duration(rapid.IntRange(1, 720*3600).Draw(t, "s")) * time.Second}
		now := time.UnixMilli(rapid.Int64Range(1.7e12, 4e12).Draw(t, "now"))
		start := plain.Start(limit, now)
		if start.After(now) || !now.Before(start.Add(limit.Window)) || start.Nanosecond() != 0 {
			t.Fatalf("%s is not in the window from %s", now, start)
		}
		if next := plain.Start(limit, start.Add(limit.Window)); !next.Equal(start.Add(limit.Window)) {
			t.Fatalf("the window after %s begins at %s", start, next)
		}
		if plain.Start(limit, now).Unix()%int64(limit.Window.Seconds()) != 0 {
			t.Fatalf("the window from %s is not aligned with the epoch", start)
		}
	})
}

// TestNeverMoreThanTheLimit checks I20 with concurrent processes, throttles and lost answers, while the shard count
// changes before and within the window.
func TestNeverMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	for name, c := range map[string]struct {
		before, within []int // shard counts
		limit          int64
		faults         bool
	}{
		"one write shard":               {nil, nil, 150, false},
		"seven":                         {[]int{7}, nil, 150, false},
		"more than hits":                {[]int{50}, nil, 20, false},
		"it grows":                      {nil, []int{9}, 200, false},
		"it grows twice":                {[]int{2}, []int{5, 20}, 200, false},
		"it shrinks":                    {[]int{9}, []int{2}, 150, false},
		"it grows and shrinks":          {[]int{3}, []int{12, 1}, 150, false},
		"one write shard, with faults":  {nil, nil, 100, true},
		"it grows and shrinks, faults":  {[]int{3}, []int{12, 4}, 100, true},
		"more than hits, it grows more": {[]int{10}, []int{30}, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			enough := c.limit >= 100 // hits for a fault of each kind
			c.limit /= int64(lane.Runs(3, 1))
			flaky := &libtest.Flaky{Client: d.Client}
			if c.faults {
				flaky.Before, flaky.After = libtest.Sometimes(random, 6, libtest.Hot(libtest.TableHot)), libtest.Sometimes(random, 8, libtest.LostAnswer{})
			}
			s := &limitStorm{deployment: d, limit: limits.Limit{Key: name, Max: c.limit, Window: time.Hour}, now: libtest.Later}
			s.change(t, c.before...)
			s.now = libtest.Later.Add(time.Hour)
			for range 4 {
				s.processes = append(s.processes, d.limiter(libtest.Faulty{Flaky: flaky}, nil))
			}
			s.hit(t, int(c.limit)/(2+len(c.within)))
			for _, n := range c.within {
				s.now = s.now.Add(5 * time.Minute)
				s.change(t, n)
				s.hit(t, int(c.limit)/(2+len(c.within)))
			}
			s.hit(t, int(c.limit)+20)
			lost, allowed := int64(flaky.Lost), s.allowed.Load()
			used := d.used(t, s.processes[0], s.limit, s.now, slices.Max(append(c.before, append(c.within, 1)...)))
			if used != c.limit || allowed > c.limit || allowed < c.limit-lost || c.faults && enough && lost == 0 {
				t.Errorf("%d allowed and %d used, want %d; %d answers lost", allowed, used, c.limit, lost)
			}
			fresh := d.limiter(d.Client, nil)
			if v := mustHit(t, fresh, s.limit, s.now); v.Allowed || v.Used != c.limit || v.Remaining != 0 {
				t.Errorf("a new process: %+v, want %d used and not allowed", v, c.limit)
			}
		})
	}
}

// slowTransactions is a client that delays the answers of transactions.
type slowTransactions struct{ *dynamodb.Client }

func (c slowTransactions) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := c.Client.TransactWriteItems(ctx, in, o...)
	time.Sleep(10 * time.Millisecond)
	return out, err
}

// TestAProcessUsesAllQuota checks that concurrent hits of one process use the whole limit, also if they read transferred
// quota before the transfer's answer arrives.
func TestAProcessUsesAllQuota(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	s := &limitStorm{deployment: d, limit: limits.Limit{Key: "k", Max: int64(lane.Runs(120, 300)), Window: 24 * time.Hour}, now: libtest.Later.Add(time.Hour)}
	s.change(t, 4)
	s.now = s.now.Add(4 * time.Second)
	l := d.limiter(slowTransactions{d.Client}, nil)
	for range 10 { // 30 goroutines share the Limiter
		s.processes = append(s.processes, l)
	}
	s.hit(t, int(s.limit.Max)+100)
	if used, allowed := d.used(t, l, s.limit, s.now, 4), s.allowed.Load(); allowed != s.limit.Max || used != allowed {
		t.Errorf("%d allowed and %d used, want %d", allowed, used, s.limit.Max)
	}
}

// limitStorm makes many hits of one limit.
type limitStorm struct {
	*deployment
	limit     limits.Limit
	now       time.Time
	processes []*limits.Limiter
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

// hit makes hits from all processes at the same time, until that many are answered.
func (s *limitStorm) hit(t *testing.T, hits int) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(hits))
	for _, l := range s.processes {
		for range 3 {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					v, err := l.Hit(libtest.Within(t), s.limit, s.now)
					switch {
					case errors.Is(err, shard.ErrUnavailable), errors.Is(err, shard.ErrThrottled):
						left.Add(1)
					case err != nil:
						t.Error(err)
						return
					case v.Used < 1 || v.Used > s.limit.Max || v.Remaining != max(0, s.limit.Max-v.Used) || !v.Allowed && v.Remaining > 0:
						t.Errorf("invalid verdict %+v of %+v", v, s.limit)
					case v.Allowed:
						s.allowed.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
}

// TestMaxChangesWithinWindow checks that a rising and falling Max never allows more than the highest one.
func TestMaxChangesWithinWindow(t *testing.T) {
	lane.Checks(t, 8)
	d := deploy(t)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		limit := limits.Limit{Key: fmt.Sprint(run), Window: time.Minute}
		shards := rapid.IntRange(1, 4).Draw(t, "shards")
		if shards > 1 {
			if _, err := d.Changer(shardmap.ChangerOptions{}).Pin(t.Context(), "R#"+limit.Key, shards, libtest.Note, libtest.Later); err != nil {
				t.Fatal(err)
			}
		}
		now := libtest.Later.Add(time.Minute)
		processes := []*limits.Limiter{d.limiter(d.Client, nil), d.limiter(d.Client, nil)}
		highest, allowed := int64(0), int64(0)
		for range rapid.IntRange(1, 5).Draw(t, "limits") {
			limit.Max = int64(rapid.IntRange(1, 12).Draw(t, "max"))
			highest = max(highest, limit.Max)
			before := allowed
			for range 15 {
				if mustHit(t, processes[rapid.IntRange(0, 1).Draw(t, "process")], limit, now).Allowed {
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
