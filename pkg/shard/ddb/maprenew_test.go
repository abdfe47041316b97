package ddb

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

	"github.com/hotshard/hotshard/internal/schema"
)

// written returns the write shards of a counter that so many increments choose.
func written(t *testing.T, m *Map, name string, times int, apart time.Duration) int {
	w := NewCounterWriter(nil, "t", m, Unwatched{})
	seen := map[string]bool{}
	for range times {
		seen[text(w.AddTransact(t.Context(), name, 1, time.Now()).Update.Key, "pk")] = true
		time.Sleep(apart)
	}
	return len(seen)
}

// TestAColdCounterGetsItsCount before the map is loaded: its writes wait less than a load
// takes, and the counter's own item says how many write shards it ever had.
func TestAColdCounterGetsItsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := NewMap(f, "m")
		if n := written(t, m, "k1", 300, time.Nanosecond); n != 16 || m.current().polled() != (time.Time{}) {
			t.Errorf("%d write shards of 16 are used without a view of the map", n)
		}
		time.Sleep(RenewTime)
		if n := written(t, m, "k1", 300, 10*time.Millisecond); n != 16 || f.again() != 0 {
			t.Errorf("%d write shards of 16 are used; %d pages were read again", n, f.again())
		}
	})
}

// TestALoadGoesOn: a page that is refused for a minute, with callers that wait for a
// second each, is read again, and none before it.
func TestALoadGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		begun, page := time.Now(), 0
		f.down = func() error {
			if page++; page > 30 && time.Since(begun) < time.Minute {
				return &types.ProvisionedThroughputExceededException{}
			}
			return nil
		}
		m := NewMap(f, "m")
		failed := 0
		for {
			entry, err := soon(t, m, "C#k7", time.Second)
			if err == nil && entry.History.Newest() == 16 {
				break
			}
			if !errors.Is(err, ErrStale) {
				t.Fatalf("%+v, %v", entry, err)
			}
			failed++
		}
		if failed < 10 || f.again() != 0 {
			t.Errorf("after %d that failed, %d of %d pages were read again", failed, f.again(), f.pages())
		}
	})
}

// TestCallersWaitAsLongAsTheyMean: for others' renewals, too, which go on.
func TestCallersWaitAsLongAsTheyMean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := NewMap(f, "m")
		begun := time.Now()
		var wg sync.WaitGroup
		for _, patience := range []time.Duration{100 * time.Millisecond, 50 * time.Millisecond, time.Nanosecond} {
			wg.Go(func() {
				_, err := soon(t, m, "C#k1", patience)
				if took := time.Since(begun); took != patience || !errors.Is(err, ErrStale) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("one who would wait for %v: %v after %v", patience, err, took)
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
			if _, err := m.Entries(ctx, time.Now()); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 200*time.Millisecond {
				t.Errorf("all entries: %v after %v", err, time.Since(begun))
			}
		})
		wg.Wait()
		if n := len(slices.Compact(slices.Sorted(slices.Values(f.asked)))); f.again() > n {
			t.Errorf("%d pages were read more than twice, by the load and the list", f.again()-n)
		}
	})
}

// TestAMapThatHangs: a renewal ends by itself, and the next caller begins another.
func TestAMapThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		f.answer(24*time.Hour, 5*time.Millisecond)
		m := NewMap(f, "m")
		begun := time.Now()
		if _, err := m.Lookup(t.Context(), "C#k1", begun); !errors.Is(err, ErrStale) || time.Since(begun) > RenewTime {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		f.answer(time.Millisecond, 5*time.Millisecond)
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Error(err)
		}
	})
}

// hung is a fakeMap whose next queries hang.
type hung struct {
	*fakeMap
	queries atomic.Int64
}

func (h *hung) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if h.queries.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.fakeMap.Query(ctx, in, o...)
}

// TestOneCallThatHangs is made again, for all who wait for its renewal.
func TestOneCallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{fakeMap: manyPages()}
		m := NewMap(h, "m")
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

// TestARenewalOfOthersFails: who came in the midst of it makes one of his own. Where
// those fail too, not all who wait do.
func TestARenewalOfOthersFails(t *testing.T) {
	for _, denied := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := &hung{fakeMap: manyPages()}
			h.queries.Store(1_000_000)
			var tried atomic.Int64
			h.down = func() error {
				if tried.Add(1); denied {
					return errors.New("access denied")
				}
				return nil
			}
			m := NewMap(h, "m")
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

// TestARenewalOfAFrozenProcess has no time left by the wall clock, whatever its
// deadline's says.
func TestARenewalOfAFrozenProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{fakeMap: manyPages()}
		h.queries.Store(1_000_000)
		m := NewMap(h, "m")
		go func() { _, _ = soon(t, m, "C#k1", time.Second) }()
		time.Sleep(100 * time.Millisecond)
		m.mu.Lock()
		m.under.begun = m.under.begun.Add(-time.Hour)
		m.mu.Unlock()
		h.queries.Store(0)
		begun := time.Now()
		if _, err := soon(t, m, "C#k1", 5*time.Second); err != nil || time.Since(begun) >= pageTime-200*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// TestAColdProcessGrows: that takes no view of the map.
func TestAColdProcessGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		begun := time.Now()
		entry, err := NewMapChanger(f, NewMap(f, "m"), ChangerOptions{}).Grow(t.Context(), "C#new", 8, Note{}, begun)
		if err != nil || entry.History.Newest() != 8 || entry.Effective().Before(time.Now().Add(LeadTime-CommitTime)) || f.pages() != 0 {
			t.Errorf("%+v, %v after %v and %d pages", entry, err, time.Since(begun), f.pages())
		}
	})
}

// TestCountersLeaveAnOldView: what was known a minute ago may have been deleted.
func TestCountersLeaveAnOldView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := NewMap(f, "m")
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Fatal(err)
		}
		f.answer(24*time.Hour, 24*time.Hour)
		if n := written(t, m, "k1", 300, CountAge/400); n != 16 {
			t.Errorf("%d write shards in the first minute", n)
		}
		time.Sleep(CountAge / 2)
		if n := written(t, m, "k1", 300, time.Millisecond); n != 1 {
			t.Errorf("%d write shards after it", n)
		}
		f.answer(24*time.Hour, 5*time.Millisecond)
		if n := written(t, m, "k1", 300, time.Millisecond); n != 16 {
			t.Errorf("%d write shards when its own item can be read", n)
		}
		time.Sleep(RenewTime)
	})
}
