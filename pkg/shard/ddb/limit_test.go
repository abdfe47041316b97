package ddb_test

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

	"github.com/hotshard/hotshard/internal/lane"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// limiter returns a process of its own that counts hits.
func (d *deployment) limiter(client ddb.LimitClient, watch ddb.Watcher) *ddb.Limiter {
	return ddb.NewLimiter(client, d.names.Items, ddb.NewMap(d.client, d.names.ShardMap), watch, ddb.LimiterOptions{})
}

type hitter interface {
	Helper()
	Fatal(...any)
	Context() context.Context
}

func mustHit(t hitter, l *ddb.Limiter, limit ddb.Limit, now time.Time) ddb.Verdict {
	t.Helper()
	v, err := l.Hit(t.Context(), limit, now)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// used sums what the items of a window say.
func (d *deployment) used(t *testing.T, l *ddb.Limiter, limit ddb.Limit, now time.Time, shards int) (sum int64) {
	t.Helper()
	for n := range shards {
		pk := fmt.Sprintf("R#%s#%d#%d#%d", limit.Key, int(limit.Window.Seconds()), l.Start(limit, now).Unix(), n)
		it := d.item(t, pk, "-")
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

func TestALimitOfOneWriteShard(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	l, limit := d.limiter(d.client, ddb.Unwatched{}), ddb.Limit{Key: "a#1#2", Max: 3, Window: time.Minute}
	now := later.Add(17 * time.Second)
	for i, want := range []ddb.Verdict{{true, 1, 2, later.Add(time.Minute)}, {true, 2, 1, later.Add(time.Minute)},
		{true, 3, 0, later.Add(time.Minute)}, {false, 3, 0, later.Add(time.Minute)}, {false, 3, 0, later.Add(time.Minute)}} {
		if got := mustHit(t, l, limit, now); got != want {
			t.Errorf("hit %d: %+v, want %+v", i, got, want)
		}
	}
	if got := mustHit(t, d.limiter(d.client, ddb.Unwatched{}), limit, now); got.Allowed || got.Used != 3 {
		t.Errorf("another process: %+v", got)
	}
	if n := d.used(t, l, limit, now, 1); n != 3 {
		t.Errorf("refused hits used something: %d", n)
	}
	if got := mustHit(t, l, limit, later.Add(time.Minute)); !got.Allowed || got.Used != 1 {
		t.Errorf("the next window: %+v", got)
	}
	limit.Window = 30 * time.Second
	if got := mustHit(t, l, limit, now); !got.Allowed || got.Used != 1 || !got.Resets.Equal(later.Add(30*time.Second)) {
		t.Errorf("a window of another length: %+v", got)
	}
}

func TestLimitsAreChecked(t *testing.T) {
	l := deploy(t).limiter(nil, ddb.Unwatched{})
	for _, limit := range []ddb.Limit{
		{"", 1, time.Minute}, {"k", 0, time.Minute}, {"k", -1, time.Minute}, {"k", ddb.MaxLimit + 1, time.Minute},
		{"k", 1, 0}, {"k", 1, time.Second - 1}, {"k", 1, 1500 * time.Millisecond}, {"k", 1, ddb.MaxLimitWindow + time.Second},
	} {
		if _, err := l.Hit(t.Context(), limit, later); err == nil {
			t.Errorf("%+v was taken", limit)
		}
	}
}

func TestWindows(t *testing.T) {
	d := deploy(t)
	plain := d.limiter(nil, ddb.Unwatched{})
	staggered := ddb.NewLimiter(nil, d.names.Items, d.shards, ddb.Unwatched{}, ddb.LimiterOptions{Stagger: true})
	rapid.Check(t, func(t *rapid.T) {
		limit := ddb.Limit{Key: rapid.StringN(1, 5, 20).Draw(t, "key"), Max: 1, Window: time.Duration(rapid.IntRange(1, 720*3600).Draw(t, "s")) * time.Second}
		now := time.UnixMilli(rapid.Int64Range(1.7e12, 4e12).Draw(t, "now"))
		for _, l := range []*ddb.Limiter{plain, staggered} {
			start := l.Start(limit, now)
			if start.After(now) || !now.Before(start.Add(limit.Window)) || start.Nanosecond() != 0 {
				t.Fatalf("%s is not in the window from %s", now, start)
			}
			if next := l.Start(limit, start.Add(limit.Window)); !next.Equal(start.Add(limit.Window)) {
				t.Fatalf("the window after %s begins at %s", start, next)
			}
		}
		if plain.Start(limit, now).Unix()%int64(limit.Window.Seconds()) != 0 {
			t.Fatal("it is not aligned with the epoch")
		}
	})
	starts := map[time.Time]bool{}
	for i := range 100 {
		starts[staggered.Start(ddb.Limit{Key: fmt.Sprint(i), Window: time.Minute}, later)] = true
	}
	if len(starts) < 30 {
		t.Errorf("100 keys begin at %d seconds", len(starts))
	}
}

// TestNeverMoreThanTheLimit: several processes at a time, with throttles and lost
// answers, while the shard count changes, also within the window.
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
			enough := c.limit >= 100 // for a fault of each kind
			c.limit /= int64(lane.Runs(3, 1))
			flaky := &flaky{Client: d.client}
			if c.faults {
				flaky.before, flaky.after = sometimes(random, 6, hot(tableHot)), sometimes(random, 8, lostAnswer{})
			}
			s := &limitStorm{deployment: d, limit: ddb.Limit{Key: name, Max: c.limit, Window: time.Hour}, now: later}
			s.change(t, c.before...)
			s.now = later.Add(time.Hour)
			for range 4 {
				s.processes = append(s.processes, d.limiter(faulty{flaky}, ddb.Unwatched{}))
			}
			s.hit(t, int(c.limit)/(2+len(c.within)))
			for _, n := range c.within {
				s.now = s.now.Add(5 * time.Minute)
				s.change(t, n)
				s.hit(t, int(c.limit)/(2+len(c.within)))
			}
			s.hit(t, int(c.limit)+20)
			lost, allowed := int64(flaky.lost), s.allowed.Load()
			used := d.used(t, s.processes[0], s.limit, s.now, slices.Max(append(c.before, append(c.within, 1)...)))
			if used != c.limit || allowed > c.limit || allowed < c.limit-lost || c.faults && enough && lost == 0 {
				t.Errorf("%d allowed, %d used of %d, %d answers lost", allowed, used, c.limit, lost)
			}
			fresh := d.limiter(d.client, ddb.Unwatched{})
			if v := mustHit(t, fresh, s.limit, s.now); v.Allowed || v.Used != c.limit || v.Remaining != 0 {
				t.Errorf("a process that comes later: %+v", v)
			}
		})
	}
}

// slowTransactions is a client whose transactions' answers take a while to come.
type slowTransactions struct{ *dynamodb.Client }

func (c slowTransactions) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := c.Client.TransactWriteItems(ctx, in, o...)
	time.Sleep(10 * time.Millisecond)
	return out, err
}

// TestAProcessUsesAllRoom that there is, also where its hits see what its take-overs
// gave before those have their answer.
func TestAProcessUsesAllRoom(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	s := &limitStorm{deployment: d, limit: ddb.Limit{Key: "k", Max: int64(lane.Runs(120, 300)), Window: 24 * time.Hour}, now: later.Add(time.Hour)}
	s.change(t, 4)
	s.now = s.now.Add(4 * time.Second)
	l := d.limiter(slowTransactions{d.client}, ddb.Unwatched{})
	for range 10 { // of one process
		s.processes = append(s.processes, l)
	}
	s.hit(t, int(s.limit.Max)+100)
	if used, allowed := d.used(t, l, s.limit, s.now, 4), s.allowed.Load(); allowed != s.limit.Max || used != allowed {
		t.Errorf("%d allowed, %d used of %d", allowed, used, s.limit.Max)
	}
}

// limitStorm is many hits of one limit.
type limitStorm struct {
	*deployment
	limit     ddb.Limit
	now       time.Time
	processes []*ddb.Limiter
	allowed   atomic.Int64
}

func (s *limitStorm) change(t *testing.T, counts ...int) {
	for _, n := range counts {
		if _, err := s.changer(ddb.ChangerOptions{}).Pin(within(t), "R#"+s.limit.Key, n, note, s.now); err != nil {
			t.Fatal(err)
		}
	}
}

// hit makes so many hits, from all processes at a time.
func (s *limitStorm) hit(t *testing.T, hits int) {
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(hits))
	for _, l := range s.processes {
		for range 3 {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					v, err := l.Hit(within(t), s.limit, s.now)
					switch {
					case errors.Is(err, ddb.ErrUnavailable), errors.Is(err, ddb.ErrThrottled):
						left.Add(1)
					case err != nil:
						t.Error(err)
						return
					case v.Used < 1 || v.Used > s.limit.Max+20 || v.Remaining != max(0, s.limit.Max-v.Used) || !v.Allowed && v.Remaining > 0:
						t.Errorf("%+v", v)
					case v.Allowed:
						s.allowed.Add(1)
					}
				}
			})
		}
	}
	wg.Wait()
}

// TestALimitThatChanges within its window, up and down.
func TestALimitThatChanges(t *testing.T) {
	lane.Checks(t, 8)
	d := deploy(t)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		limit := ddb.Limit{Key: fmt.Sprint(run), Window: time.Minute}
		shards := rapid.IntRange(1, 4).Draw(t, "shards")
		if shards > 1 {
			if _, err := d.changer(ddb.ChangerOptions{}).Pin(t.Context(), "R#"+limit.Key, shards, note, later); err != nil {
				t.Fatal(err)
			}
		}
		now := later.Add(time.Minute)
		processes := []*ddb.Limiter{d.limiter(d.client, ddb.Unwatched{}), d.limiter(d.client, ddb.Unwatched{})}
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
				t.Fatalf("%d allowed under the highest limit, %d", allowed, highest)
			case shards == 1 && before >= limit.Max && got > 0, got > limit.Max, allowed > highest:
				t.Fatalf("%d more allowed under %d after %d", got, limit.Max, before)
			}
		}
	})
}
