package memo_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/memo"
)

func TestMemo(t *testing.T) {
	m := memo.New[[]int](10)
	if v, ok := m.Get("a"); ok || v != nil {
		t.Errorf("nothing was remembered: %v", v)
	}
	m.Set("a", []int{1})
	m.Set("a", nil) // a nil value is cached
	if v, ok := m.Get("a"); !ok || v != nil {
		t.Errorf("%v, %v", v, ok)
	}
	m.Forget("a")
	if _, ok := m.Get("a"); ok {
		t.Error("it was not forgotten")
	}
}

// TestGetOrMakesOneValue checks that concurrent calls make one value.
func TestGetOrMakesOneValue(t *testing.T) {
	m := memo.New[*int](10)
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
		t.Errorf("%d were made", made.Load())
	}
}

// TestBounds checks the limits of number and weight.
func TestBounds(t *testing.T) {
	few := memo.New[int](100)
	light := memo.Weighing(100, func(name string, n int) uint32 { return uint32(len(name) + n) })
	for i := range 1000 {
		few.Set(fmt.Sprint(i), i)
		light.Set(fmt.Sprint(i), 10)
	}
	count := func(m memo.Memo[int]) (n int) {
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
	t.Errorf("%d and %d are kept", count(few), count(light))
}
