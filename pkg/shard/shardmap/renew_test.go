package shardmap

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// shardsWritten returns how many write shards increments of a counter go to.
func shardsWritten(t *testing.T, m *Map, name string, times int, apart time.Duration) int {
	seen := map[int]bool{}
	for range times {
		_, count := m.Newest(t.Context(), "C#"+name, time.Now())
		seen[shard.Random(count)] = true
		time.Sleep(apart)
	}
	return len(seen)
}

// TestCounterWritesDoNotWaitForLoad checks that a counter's writes read the counter's own entry until the map is
// loaded.
func TestCounterWritesDoNotWaitForLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := New(f, "m", Options{})
		if n := shardsWritten(t, m, "k1", 300, time.Nanosecond); n != 16 || m.current().polled() != (time.Time{}) {
			t.Errorf("%d write shards of 16 are used before the map is loaded (or it is loaded already)", n)
		}
		time.Sleep(RenewTime)
		if n := shardsWritten(t, m, "k1", 300, 10*time.Millisecond); n != 16 || f.Again() != 0 {
			t.Errorf("%d write shards of 16 are used; %d pages were read again", n, f.Again())
		}
	})
}

// TestThrottledLoadRepeatsNoPage checks that a load reads no page twice if a page is throttled for a minute. Its
// callers wait for a second each.
func TestThrottledLoadRepeatsNoPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		begun, page := time.Now(), 0
		f.Down = func() error {
			if page++; page > 30 && time.Since(begun) < time.Minute {
				return &types.ProvisionedThroughputExceededException{}
			}
			return nil
		}
		m := New(f, "m", Options{})
		failed := 0
		for {
			entry, err := soon(t, m, "C#k7", time.Second)
			if err == nil && entry.History.Newest() == 16 {
				break
			}
			if !errors.Is(err, shard.ErrStale) {
				t.Fatalf("%+v, %v", entry, err)
			}
			failed++
		}
		if failed < 10 || f.Again() != 0 {
			t.Errorf("%d lookups failed, want at least 10; %d of %d pages were read again, want none", failed, f.Again(), f.Pages())
		}
	})
}

// TestDeadlineEndsOnlyItsCallersWait checks that each caller's deadline ends its wait, and not the renewal.
func TestDeadlineEndsOnlyItsCallersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := New(f, "m", Options{})
		begun := time.Now()
		var wg sync.WaitGroup
		for _, deadline := range []time.Duration{100 * time.Millisecond, 50 * time.Millisecond, time.Nanosecond} {
			wg.Go(func() {
				_, err := soon(t, m, "C#k1", deadline)
				if took := time.Since(begun); took != deadline || !errors.Is(err, shard.ErrStale) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("a caller with a deadline of %v: %v after %v", deadline, err, took)
				}
			})
		}
		wg.Go(func() {
			if entry, err := soon(t, m, "C#k1", 5*time.Second); err != nil || entry.History.Newest() != 16 {
				t.Errorf("a patient caller: %+v, %v; want 16 write shards", entry, err)
			}
		})
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := m.Entries(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 200*time.Millisecond {
				t.Errorf("Entries with a deadline of 200ms: %v after %v", err, time.Since(begun))
			}
		})
		wg.Wait()
		if n := len(slices.Compact(slices.Sorted(slices.Values(f.Asked)))); f.Again() > n {
			t.Errorf("%d pages were read more than twice (once by the load, once by Entries)", f.Again()-n)
		}
	})
}

// TestHangingPollIsRepeated checks that a hanging poll is repeated once for all callers that wait for its renewal.
func TestHangingPollIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{MapTable: manyPages()}
		m := New(h, "m", Options{})
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ViewAge + time.Second)
		loaded := h.made.Load()
		h.hanging.Store(1)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := soon(t, m, "C#k1", callTime-200*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller that started the poll and gives up: %v, want its deadline", err)
			}
		})
		for range 3 {
			time.Sleep(100 * time.Millisecond)
			wg.Go(func() {
				if _, err := soon(t, m, "C#k1", 2*time.Second); err != nil {
					t.Errorf("a caller that waits: %v", err)
				}
			})
		}
		wg.Wait()
		if polls := h.made.Load() - loaded; polls != 2 {
			t.Errorf("%d polls, want the hanging one and its repetition", polls)
		}
	})
}

// TestCallerRetriesFailedSharedRenewal checks that a caller that joined a failed renewal starts its own, unless
// access is denied.
func TestCallerRetriesFailedSharedRenewal(t *testing.T) {
	for _, denied := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := &hung{MapTable: manyPages()}
			h.hanging.Store(1_000_000)
			var tried atomic.Int64
			h.Down = func() error {
				if tried.Add(1); denied {
					return errors.New("access denied")
				}
				return nil
			}
			m := New(h, "m", Options{})
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = m.Lookup(t.Context(), "C#k1", time.Now()) })
			time.Sleep(RenewTime - 3*time.Second)
			for range 20 {
				wg.Go(func() {
					if _, err := soon(t, m, "C#k1", 8*time.Second); (err != nil) != denied {
						t.Errorf("access denied: %v, error %v", denied, err)
					}
				})
			}
			time.Sleep(3 * time.Second)
			h.hanging.Store(0)
			wg.Wait()
			if denied && tried.Load() > schema.MapBuckets {
				t.Errorf("%d queries after access was denied, want at most %d of one renewal", tried.Load(), schema.MapBuckets)
			}
		})
	}
}

// TestRenewalTimesOutByWallClock checks that a lookup cancels a renewal that is older than RenewTime by the wall clock.
func TestRenewalTimesOutByWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{MapTable: manyPages()}
		h.hanging.Store(1_000_000)
		m := New(h, "m", Options{})
		go func() { _, _ = soon(t, m, "C#k1", time.Second) }()
		time.Sleep(100 * time.Millisecond)
		m.mu.Lock()
		m.inFlight.begun = m.inFlight.begun.Add(-time.Hour)
		m.mu.Unlock()
		h.hanging.Store(0)
		begun := time.Now()
		if _, err := soon(t, m, "C#k1", 5*time.Second); err != nil || time.Since(begun) >= pageTime-200*time.Millisecond {
			t.Errorf("%v after %v, want success within %v", err, time.Since(begun), pageTime-200*time.Millisecond)
		}
	})
}

// TestGrowNeedsNoView checks that a process grows a key before it has loaded the map.
func TestGrowNeedsNoView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		begun := time.Now()
		entry, err := NewChanger(f, New(f, "m", Options{}), ChangerOptions{}).GrowFrom(t.Context(), Entry{Key: "C#new"}, 8, Note{}, begun)
		if err != nil || entry.History.Newest() != 8 || entry.Effective().Before(time.Now().Add(LeadTime-CommitTime)) || f.Pages() != 0 {
			t.Errorf("GrowFrom = %+v, %v after %v and %d pages; want 8 write shards and no page", entry, err, time.Since(begun), f.Pages())
		}
	})
}

// TestCountersUseNoOldView checks that counters don't use a view that is over CountAge old. A key in it may have been
// deleted since.
func TestCountersUseNoOldView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := New(f, "m", Options{})
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Fatal(err)
		}
		f.Answer(24*time.Hour, 24*time.Hour)
		if n := shardsWritten(t, m, "k1", 300, CountAge/400); n != 16 {
			t.Errorf("%d write shards within CountAge, want 16", n)
		}
		time.Sleep(CountAge / 2)
		if n := shardsWritten(t, m, "k1", 300, time.Millisecond); n != 1 {
			t.Errorf("%d write shards after CountAge, want 1", n)
		}
		f.Answer(24*time.Hour, 5*time.Millisecond)
		if n := shardsWritten(t, m, "k1", 300, time.Millisecond); n != 16 {
			t.Errorf("%d write shards when the counter's own item can be read, want 16", n)
		}
		time.Sleep(RenewTime)
	})
}

// TestFrozenRenewalFails checks that a load or poll fails if its process was frozen for hours meanwhile. The log may
// have lost changes, so the view stays old and the next lookup loads the map.
func TestFrozenRenewalFails(t *testing.T) {
	for _, loads := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := manyPages()
			m := New(f, "m", Options{})
			if !loads {
				if err := m.Load(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
			}
			f.Answer(60*time.Millisecond, 200*time.Millisecond)
			go func() { _, _ = soon(t, m, "C#k1", 100*time.Millisecond) }()
			time.Sleep(150 * time.Millisecond)
			m.mu.Lock()
			r := m.inFlight
			r.begun = r.begun.Add(-3 * time.Hour)
			m.mu.Unlock()
			if err := r.wait(t.Context()); !errors.Is(err, shard.ErrUnavailable) || m.current().isWithin(time.Now(), 30*time.Second) {
				t.Errorf("load: %v, error %v, want ErrUnavailable and an old view", loads, err)
			}
			if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
}

// hung is an enginetest.MapTable that counts its queries. The next hanging ones don't return before the caller's deadline.
type hung struct {
	*enginetest.MapTable
	made, hanging atomic.Int64
}

func (h *hung) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	h.made.Add(1)
	if h.hanging.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.MapTable.Query(ctx, in, o...)
}
