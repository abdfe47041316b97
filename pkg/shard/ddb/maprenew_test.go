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

// TestAColdCounterGetsItsCount: its writes wait less than a load takes.
func TestAColdCounterGetsItsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := NewMap(f, "m")
		written(t, m, "k1", 300, 10*time.Millisecond)
		if n := written(t, m, "k1", 300, 10*time.Millisecond); n != 16 {
			t.Errorf("%d write shards of 16 are used", n)
		}
		if n := f.pages(); n != 22 {
			t.Errorf("%d pages were read of 22", n)
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
			if page++; page > 5 && time.Since(begun) < time.Minute {
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
		if again := slices.Clone(f.asked); failed < 10 || len(slices.Compact(again)) != len(f.asked) || !slices.IsSorted(f.asked) {
			t.Errorf("after %d that failed, pages were read from %q", failed, f.asked)
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
		if !slices.IsSorted(f.asked) {
			t.Errorf("the table was read more than once: %q", f.asked)
		}
	})
}

// TestAMapThatHangs: a renewal ends by itself, and the next caller begins another.
func TestAMapThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		f.takes = 24 * time.Hour
		m := NewMap(f, "m")
		begun := time.Now()
		if _, err := m.Lookup(t.Context(), "C#k1", begun); !errors.Is(err, ErrStale) || time.Since(begun) != RenewTime {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
		f.takes = time.Millisecond
		if _, err := m.Lookup(t.Context(), "C#k1", time.Now()); err != nil {
			t.Error(err)
		}
	})
}

// hung is a fakeMap whose next calls hang.
type hung struct {
	*fakeMap
	gets, scans atomic.Int64
}

func (h *hung) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if h.gets.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.fakeMap.GetItem(ctx, in, o...)
}

func (h *hung) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	if h.scans.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.fakeMap.Scan(ctx, in, o...)
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
		h.gets.Store(1)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := soon(t, m, "C#k1", time.Second); !errors.Is(err, context.DeadlineExceeded) {
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
			h.scans.Store(1)
			tried := 0
			h.down = func() error {
				if tried++; denied {
					return errors.New("access denied")
				}
				return nil
			}
			m := NewMap(h, "m")
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = m.Lookup(t.Context(), "C#k1", time.Now()) })
			time.Sleep(RenewTime - time.Second)
			for range 20 {
				wg.Go(func() {
					if _, err := soon(t, m, "C#k1", 5*time.Second); (err != nil) != denied {
						t.Errorf("access denied %v: %v", denied, err)
					}
				})
			}
			wg.Wait()
			if denied && tried != 1 {
				t.Errorf("%d renewals after the first", tried)
			}
		})
	}
}

// TestARenewalOfAFrozenProcess has no time left by the wall clock, whatever its
// deadline's says.
func TestARenewalOfAFrozenProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hung{fakeMap: manyPages()}
		h.scans.Store(1)
		m := NewMap(h, "m")
		go func() { _, _ = soon(t, m, "C#k1", time.Second) }()
		time.Sleep(100 * time.Millisecond)
		m.mu.Lock()
		m.under.begun = m.under.begun.Add(-time.Hour)
		m.mu.Unlock()
		begun := time.Now()
		if _, err := soon(t, m, "C#k1", 5*time.Second); err != nil || time.Since(begun) >= RenewTime/2 {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// TestAColdProcessGrows: the map is loaded before a change's second begins.
func TestAColdProcessGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		begun := time.Now()
		entry, err := NewMapChanger(f, NewMap(f, "m"), ChangerOptions{}).Grow(t.Context(), "C#new", 8, Note{}, begun)
		if err != nil || entry.History.Newest() != 8 || entry.Effective().Before(time.Now().Add(LeadTime-CommitTime)) {
			t.Errorf("%+v, %v after %v", entry, err, time.Since(begun))
		}
		if n := f.pages(); n != 22 {
			t.Errorf("%d pages", n)
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
		f.trips, f.takes = 24*time.Hour, 24*time.Hour
		if n := written(t, m, "k1", 300, CountAge/400); n != 16 {
			t.Errorf("%d write shards in the first minute", n)
		}
		time.Sleep(CountAge / 2)
		if n := written(t, m, "k1", 300, time.Millisecond); n != 1 {
			t.Errorf("%d write shards after it", n)
		}
		time.Sleep(RenewTime)
	})
}
