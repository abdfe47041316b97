package limits_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestKeyedHitsCountOnce checks that keyed hits of several processes count once although answers are lost, and that a
// retry returns the first answer.
func TestKeyedHitsCountOnce(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := deploy(t)
	d.SetShards(t, "R#k", "1:3", fmt.Sprintf("%d:5", libtest.Later.Add(time.Second).Unix()))
	random := rand.New(rand.NewPCG(seed, 1))
	flaky := &libtest.Flaky{Client: d.Client, Before: libtest.Sometimes(random, 8, libtest.Hot(libtest.TableHot)), After: libtest.Sometimes(random, 5, libtest.LostAnswer{})}
	limit := limits.Limit{Key: "k", Max: 25, Window: time.Hour}
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for p := range 4 {
		wg.Go(func() {
			l, keyed := d.limiter(libtest.Faulty{Flaky: flaky}, nil), once.New(libtest.Faulty{Flaky: flaky}, d.Names.Items, once.Options{})
			for i := range 10 {
				first := keyedHit(t, l, keyed, fmt.Sprint(p, "-", i), limit)
				if again := keyedHit(t, l, keyed, fmt.Sprint(p, "-", i), limit); again != first {
					t.Errorf("the first answer is %s, and the retry's is %s", first, again)
				}
				if first == "yes" {
					allowed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if used := d.used(t, d.limiter(d.Client, nil), limit, libtest.Later, 5); used != 25 || allowed.Load() != 25 || flaky.Lost == 0 {
		t.Errorf("%d used, %d allowed, %d answers lost; want 25 used and allowed, and lost answers", used, allowed.Load(), flaky.Lost)
	}
}

// keyedHit repeats a keyed hit until it is answered, and returns the answer: yes or no.
func keyedHit(t *testing.T, l *limits.Limiter, keyed *once.Applier, key string, limit limits.Limit) string {
	for range 30 {
		answer := ""
		before, err := keyed.Decide(libtest.Within(t), once.Call{Key: key, Digest: []byte("d")}, libtest.Later,
			func(ctx context.Context) ([]shardmap.Write, []byte, error) {
				actions, v, err := l.HitTransact(ctx, limit, libtest.Later)
				answer = map[bool]string{true: "yes", false: "no"}[v.Allowed]
				return actions, []byte(answer), err
			})
		if err == nil && before != nil {
			return string(before)
		} else if err == nil {
			return answer
		}
	}
	t.Errorf("key %s was not answered in 30 calls", key)
	return ""
}

// TestUsedCountsHits checks that a process which makes all hits reports their exact number, keyed or not, while quota is
// transferred.
func TestUsedCountsHits(t *testing.T) {
	for name, history := range map[string][]string{"one write shard": nil, "seven": {"1:7"}, "it grows to seven": {later(7)}} {
		s := newStore(history...)
		l, limit := s.limiter(nil), limits.Limit{Key: "k", Max: 1000, Window: 24 * time.Hour}
		for i := range int64(40) {
			if v := mustHit(t, l, limit, libtest.Later); v.Used != i+1 || v.Remaining != 1000-v.Used {
				t.Errorf("%s, hit %d: %d used, %d left", name, i+1, v.Used, v.Remaining)
			}
		}
		for i := range int64(20) {
			actions, v, err := l.HitTransact(t.Context(), limit, libtest.Later)
			if err != nil || v.Used != i+41 || v.Remaining != 1000-v.Used {
				t.Errorf("%s, keyed hit %d: %d used, %d left, %v", name, i+41, v.Used, v.Remaining, err)
			}
			in := &dynamodb.TransactWriteItemsInput{}
			for _, w := range actions {
				in.TransactItems = append(in.TransactItems, w.Action)
			}
			if _, err := s.TransactWriteItems(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
}
