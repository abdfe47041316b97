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
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
)

// written returns how many write shards a number of increments go to.
func written(t *testing.T, m *Map, name string, times int, apart time.Duration) int {
	seen := map[int]bool{}
	for range times {
		_, count := m.Newest(t.Context(), "C#"+name, time.Now())
		seen[shard.Random(count)] = true
		time.Sleep(apart)
	}
	return len(seen)
}

// TestAColdCounterGetsItsCount checks that a counter's writes don't wait for the load of the map, but read
// the counter's own entry.
func TestAColdCounterGetsItsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := New(f, "m", Options{})
		if n := written(t, m, "k1", 300, time.Nanosecond); n != 16 || m.current().polled() != (time.Time{}) {
			t.Errorf("%d write shards of 16 are used without a view of the map", n)
		}
		time.Sleep(RenewTime)
		if n := written(t, m, "k1", 300, 10*time.Millisecond); n != 16 || f.Again() != 0 {
			t.Errorf("%d write shards of 16 are used; %d pages were read again", n, f.Again())
		}
	})
}

// TestALoadGoesOn checks that a load whose page is throttled for a minute repeats that page only, although
// its callers wait for a second each.
func TestALoadGoesOn(t *testing.T) {
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
			t.Errorf("after %d that failed, %d of %d pages were read again", failed, f.Again(), f.Pages())
		}
	})
}

// TestCallersWaitAsLongAsTheyMean checks that each caller's deadline ends its wait and not the renewal.
func TestCallersWaitAsLongAsTheyMean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := New(f, "m", Options{})
		begun := time.Now()
		var wg sync.WaitGroup
		for _, newestWait := range []time.Duration{100 * time.Millisecond, 50 * time.Millisecond, time.Nanosecond} {
			wg.Go(func() {
				_, err := soon(t, m, "C#k1", newestWait)
				if took := time.Since(begun); took != newestWait || !errors.Is(err, shard.ErrStale) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("one who would wait for %v: %v after %v", newestWait, err, took)
				}
			})
		}
		wg.Go(func() {
			if entry, err := soon(t, m, "C#k1", 5*time.Second); err != nil || entry.History.Newest() != 16 {
				t.Errorf("one who waits: %+v, %v", entry, err)
			}
		})
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := m.Entries(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 200*time.Millisecond {
				t.Errorf("all entries: %v after %v", err, time.Since(begun))
			}
		})
		wg.Wait()
		if n := len(slices.Compact(slices.Sorted(slices.Values(f.Asked)))); f.Again() > n {
			t.Errorf("%d pages were read more than twice, by the load and the list", f.Again()-n)
		}
	})
}

// TestAMapThatHangs checks that a hanging renewal ends, and that the next caller begins another.
func TestAMapThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		f.Answer(24*time.Hour, 5*time.Millisecond)
		m := New(f, "m", Options{})
		begun := time.Now()
		if _, err := m.Lookup(t.Context(), "C#k1", begun); !errors.Is(err, shard.ErrStale) || time.Since(begun) > RenewTime {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		f.Answer(time.Millisecond, 5*time.Millisecond)
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Error(err)
		}
	})
}

// hung is a mapfake.Table whose next queries hang.
type hung struct {
	*mapfake.Table
	queries atomic.Int64
}

func (h *hung) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if h.queries.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Table.Query(ctx, in, o...)
}

// TestOneCallThatHangs checks that a hanging call is repeated for all that wait for its renewal.
func TestOneCallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{Table: manyPages()}
		m := New(h, "m", Options{})
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ViewAge + time.Second)
		h.queries.Store(1)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := soon(t, m, "C#k1", callTime-200*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("one who began it, and gives up: %v", err)
			}
		})
		for range 3 {
			time.Sleep(100 * time.Millisecond)
			wg.Go(func() {
				if _, err := soon(t, m, "C#k1", 5*time.Second); err != nil {
					t.Errorf("one who waits: %v", err)
				}
			})
		}
		wg.Wait()
	})
}

// TestARenewalOfOthersFails checks that a caller that joined a failed renewal begins its own.
func TestARenewalOfOthersFails(t *testing.T) {
	for _, denied := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := &hung{Table: manyPages()}
			h.queries.Store(1_000_000)
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
						t.Errorf("access denied %v: %v", denied, err)
					}
				})
			}
			time.Sleep(3 * time.Second)
			h.queries.Store(0)
			wg.Wait()
			if denied && tried.Load() > schema.MapParts {
				t.Errorf("%d queries after the first renewal", tried.Load())
			}
		})
	}
}

// TestARenewalOfAFrozenProcess checks that the deadline of a frozen process counts by the wall clock.
func TestARenewalOfAFrozenProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{Table: manyPages()}
		h.queries.Store(1_000_000)
		m := New(h, "m", Options{})
		go func() { _, _ = soon(t, m, "C#k1", time.Second) }()
		time.Sleep(100 * time.Millisecond)
		m.mu.Lock()
		m.inFlight.begun = m.inFlight.begun.Add(-time.Hour)
		m.mu.Unlock()
		h.queries.Store(0)
		begun := time.Now()
		if _, err := soon(t, m, "C#k1", 5*time.Second); err != nil || time.Since(begun) >= pageTime-200*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// TestARenewalThatWasFrozen checks that a load or a poll of a process that was frozen in it for hours fails:
// the log may have lost changes since. The next one is a load.
func TestARenewalThatWasFrozen(t *testing.T) {
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
			if err := r.wait(t.Context()); !errors.Is(err, shard.ErrUnavailable) || m.current().younger(time.Now(), 30*time.Second) {
				t.Errorf("load %v: %v", loads, err)
			}
			if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAColdProcessGrows checks that a process grows a key without a view of the map.
func TestAColdProcessGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		begun := time.Now()
		entry, err := NewChanger(f, New(f, "m", Options{}), ChangerOptions{}).GrowFrom(t.Context(), Entry{Key: "C#new"}, 8, Note{}, begun)
		if err != nil || entry.History.Newest() != 8 || entry.Effective().Before(time.Now().Add(LeadTime-CommitTime)) || f.Pages() != 0 {
			t.Errorf("%+v, %v after %v and %d pages", entry, err, time.Since(begun), f.Pages())
		}
	})
}

// TestCountersLeaveAnOldView checks that counters don't use a view over a minute old: a key in it may have
// been deleted.
func TestCountersLeaveAnOldView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := New(f, "m", Options{})
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Fatal(err)
		}
		f.Answer(24*time.Hour, 24*time.Hour)
		if n := written(t, m, "k1", 300, CountAge/400); n != 16 {
			t.Errorf("%d write shards in the first minute", n)
		}
		time.Sleep(CountAge / 2)
		if n := written(t, m, "k1", 300, time.Millisecond); n != 1 {
			t.Errorf("%d write shards after it", n)
		}
		f.Answer(24*time.Hour, 5*time.Millisecond)
		if n := written(t, m, "k1", 300, time.Millisecond); n != 16 {
			t.Errorf("%d write shards when its own item can be read", n)
		}
		time.Sleep(RenewTime)
	})
}
