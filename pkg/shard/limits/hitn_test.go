package limits_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/limits"
)

// TestHitN checks verdicts of HitN and Peek on one write shard, and on several of which none has quota for all hits.
func TestHitN(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "R#seven", "1:7")
	d.SetShards(t, "R#more", "1:150")
	d.SetShards(t, "R#grown", "1:2", fmt.Sprintf("%d:9", libtest.Later.Add(time.Minute).Unix()))
	for _, key := range []string{"one", "seven", "grown"} {
		limit := limits.Limit{Key: key, Max: 40, Window: 24 * time.Hour}
		l, other := d.limiter(d.Client, nil), d.limiter(d.Client, nil)
		resets := l.Start(limit, libtest.Later).Add(limit.Window)
		for i, c := range []struct {
			by   *limits.Limiter
			n    int64 // 0 peeks
			want limits.Verdict
		}{
			{l, 0, limits.Verdict{Allowed: true, Remaining: 40}},
			{l, 25, limits.Verdict{Allowed: true, Used: 25, Remaining: 15}},
			{other, 16, limits.Verdict{Used: 25, Remaining: 15}},
			{l, 16, limits.Verdict{Used: 25, Remaining: 15}},
			{other, 0, limits.Verdict{Allowed: true, Used: 25, Remaining: 15}},
			{other, 15, limits.Verdict{Allowed: true, Used: 40}},
			{l, 2, limits.Verdict{Used: 40}},
			{other, 1, limits.Verdict{Used: 40}},
			{other, 0, limits.Verdict{Used: 40}},
			{l, 40, limits.Verdict{Used: 40}},
		} {
			c.want.Resets = resets
			var got limits.Verdict
			var err error
			if c.n == 0 {
				got, err = c.by.Peek(libtest.Within(t), limit, libtest.Later)
			} else {
				got, err = c.by.HitN(libtest.Within(t), limit, c.n, libtest.Later)
			}
			// With several write shards an allowed process does not know what the other one has used.
			if c.want.Allowed && key != "one" && c.n > 0 {
				got.Used, got.Remaining = c.want.Used, c.want.Remaining
			}
			if err != nil || got != c.want {
				t.Errorf("%s, call %d: %+v, %v, want %+v", key, i, got, err, c.want)
			}
		}
		if used := d.used(t, l, limit, libtest.Later, 9); used != 40 {
			t.Errorf("%s: %d used, want 40", key, used)
		}
	}
	l, limit := d.limiter(d.Client, nil), limits.Limit{Key: "more", Max: 150, Window: time.Minute}
	for _, n := range []int64{100, 99} { // each write shard has quota for one hit, and a transaction writes at most 99
		if v, err := l.HitN(libtest.Within(t), limit, n, libtest.Later); err != nil || v.Allowed != (n == 99) {
			t.Errorf("HitN of %d over 150 write shards: %+v, %v; want allowed: %t", n, v, err, n == 99)
		}
	}
	for _, n := range []int64{-1, 0, 151} {
		if _, err := l.HitN(t.Context(), limit, n, libtest.Later); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("HitN of %d: error %v, want ErrMisused", n, err)
		}
	}
	if _, err := l.Peek(t.Context(), limits.Limit{Key: "more"}, libtest.Later); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("Peek of an invalid limit: error %v, want ErrMisused", err)
	}
}

// reading is a touched client that also counts the items that batches read.
type reading struct {
	*touched
	read atomic.Int64
}

func (r *reading) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	for _, keys := range in.RequestItems {
		r.read.Add(int64(len(keys.Keys)))
	}
	return r.Client.BatchGetItem(ctx, in, o...)
}

// TestCostOfHitN checks the items that HitN and Peek read, and that Peek and rejected hits write nothing.
func TestCostOfHitN(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	d.SetShards(t, "R#k", "1:4")
	client := &reading{touched: &touched{Client: d.Client, writes: map[string]int{}}}
	l, limit := d.limiter(client, nil), limits.Limit{Key: "k", Max: 40, Window: time.Minute}
	for i, c := range []struct {
		n, read int64 // 0 peeks
		written int   // items
		allowed bool
	}{
		{0, 4, 0, true},
		{8, 4, 1, true}, // reads all items for Used
		{35, 0, 0, false},
		{32, 0, 4, true}, // one transaction
		{2, 0, 0, false}, {0, 0, 0, false},
	} {
		client.read.Store(0)
		clear(client.writes)
		var v limits.Verdict
		var err error
		if c.n == 0 {
			v, err = l.Peek(t.Context(), limit, libtest.Later)
		} else {
			v, err = l.HitN(t.Context(), limit, c.n, libtest.Later)
		}
		if err != nil || v.Allowed != c.allowed || client.read.Load() != c.read || len(client.writes) != c.written {
			t.Errorf("call %d: %+v, %v; %d items read, %v written, want %+v", i, v, err, client.read.Load(), client.writes, c)
		}
	}
}

// TestHitNNeverExceedsTheLimit checks I20 for HitN with concurrent processes, throttles, lost answers and changes of the
// shard count. In the end one call can use all remaining quota.
func TestHitNNeverExceedsTheLimit(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	for name, c := range map[string]struct {
		before, within int // shard counts
		faults         bool
	}{
		"one write shard": {1, 1, false}, "seven": {7, 7, false}, "it grows": {1, 9, false}, "it shrinks": {9, 2, false},
		"one write shard, faults": {1, 1, true}, "it grows, faults": {2, 6, true},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			flaky := &libtest.Flaky{Client: d.Client}
			if c.faults {
				flaky.Before, flaky.After = libtest.Sometimes(random, 6, libtest.Hot(libtest.TableHot)), libtest.Sometimes(random, 8, libtest.LostAnswer{})
			}
			max := int64(lane.Runs(200, 600))
			s := &limitStorm{deployment: d, limit: limits.Limit{Key: name, Max: max, Window: time.Hour}, now: libtest.Later}
			s.change(t, c.before)
			s.now = libtest.Later.Add(time.Hour)
			for range 4 {
				s.processes = append(s.processes, d.limiter(libtest.Faulty{Flaky: flaky}, nil))
			}
			const most = 6
			s.hitN(t, seed, most, max/3)
			s.now = s.now.Add(5 * time.Minute)
			if c.within != c.before {
				s.change(t, c.within)
			}
			s.hitN(t, seed+1, most, 2*max)
			lost := int64(most * flaky.Lost)
			allowed, used := s.allowed.Load(), d.used(t, s.processes[0], s.limit, s.now, 9)
			if used > max || allowed > used || used > allowed+lost || used <= max-most || c.faults && lost == 0 {
				t.Errorf("%d hits allowed and %d used of %d, %d lost at most", allowed, used, max, lost)
			}
			fresh := d.limiter(d.Client, nil)
			v, err := fresh.Peek(libtest.Within(t), s.limit, s.now)
			if err != nil || v.Used != used || v.Remaining != max-used || v.Allowed != (used < max) {
				t.Errorf("Peek = %+v, %v; want %d used", v, err, used)
			}
			if rest := max - used; rest > 0 {
				if v, err := fresh.HitN(libtest.Within(t), s.limit, rest, s.now); err != nil || !v.Allowed {
					t.Errorf("the last %d hits: %+v, %v", rest, v, err)
				}
			}
		})
	}
}

// hitN makes calls of 1 to most hits from all processes at the same time, until about hits were tried.
func (s *limitStorm) hitN(t *testing.T, seed uint64, most int, hits int64) {
	var wg sync.WaitGroup
	var tried atomic.Int64
	for i, l := range s.processes {
		for j := range 3 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(10*i+j)))
				for tried.Load() < hits {
					n := 1 + random.Int64N(int64(most))
					v, err := l.HitN(libtest.Within(t), s.limit, n, s.now)
					tried.Add(n)
					switch {
					case errors.Is(err, shard.ErrUnavailable), errors.Is(err, shard.ErrThrottled):
					case err != nil:
						t.Error(err)
						return
					case v.Used > s.limit.Max || v.Remaining != s.limit.Max-v.Used || v.Allowed && v.Used < n || !v.Allowed && v.Remaining >= n:
						t.Errorf("%d hits: %+v", n, v)
					case v.Allowed:
						s.allowed.Add(n)
					}
				}
			})
		}
	}
	wg.Wait()
}
