package dynamo_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// TestCache checks that a value, even nil, is cached until it is forgotten.
func TestCache(t *testing.T) {
	m := dynamo.NewCache[[]int](10)
	if v, ok := m.Get("a"); ok || v != nil {
		t.Errorf("an empty cache has %v", v)
	}
	m.Set("a", []int{1})
	m.Set("a", nil) // a nil value is cached
	if v, ok := m.Get("a"); !ok || v != nil {
		t.Errorf("a cached nil: %v, %v", v, ok)
	}
	m.Forget("a")
	if _, ok := m.Get("a"); ok {
		t.Error("the value is still cached after Forget")
	}
}

// TestGetOrMakesOneValue checks that concurrent calls of GetOr return the first value.
func TestGetOrMakesOneValue(t *testing.T) {
	m := dynamo.NewCache[*int](10)
	var made atomic.Int64
	var group sync.WaitGroup
	first := m.GetOr("a", func() *int { made.Add(1); return new(int) })
	for range 50 {
		group.Go(func() {
			if m.GetOr("a", func() *int { made.Add(1); return new(int) }) != first {
				t.Error("another value")
			}
		})
	}
	if group.Wait(); made.Load() != 1 {
		t.Errorf("%d values were made, want 1", made.Load())
	}
}

// TestBounds checks that caches keep to their number of entries, and to their weight.
func TestBounds(t *testing.T) {
	few := dynamo.NewCache[int](100)
	light := dynamo.NewWeightedCache(100, func(name string, n int) uint32 { return uint32(len(name) + n) })
	for i := range 1000 {
		few.Set(fmt.Sprint(i), i)
		light.Set(fmt.Sprint(i), 10)
	}
	count := func(m dynamo.Cache[int]) (n int) {
		for i := range 1000 {
			if _, ok := m.Get(fmt.Sprint(i)); ok {
				n++
			}
		}
		return n
	}
	for range 50 { // eviction is asynchronous
		if count(few) <= 100 && count(light) <= 10 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d and %d entries are cached, want at most 100 and 10", count(few), count(light))
}
