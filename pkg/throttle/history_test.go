package throttle_test

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestThrottledWritesAreKept checks that each throttled write counts once for its key and second: a single one,
// in a batch and in a transaction. Throttled reads do not count.
func TestThrottledWritesAreKept(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1000, PartitionWCU: 1, PartitionRCU: 1})
	keys := b.apart(t, 2)
	begin := b.Now()
	for _, key := range keys {
		if first, second := b.put(t, keyOf(key, "1")), b.put(t, keyOf(key, "1")); first != nil || second == nil {
			t.Fatalf("%v, %v: want the second put throttled", first, second)
		}
	}
	_, err := b.batchWrite(t, putRequests(keyOf(keys[0], "1"), keyOf(keys[1], "1")))
	wantThrottled(t, "a batch", err, tableWriteThrottled)
	err = b.transact(t, "", keyOf(keys[0], "1"), keyOf(keys[1], "1"))
	wantCancelled(t, "a transaction", err, "ThrottlingError", "ThrottlingError")
	for range 3 {
		b.get(t, keys[0], "1", true)
	}
	slots := b.ThrottledWrites(tableName, begin, begin.Add(time.Second))
	if got := writesOf(slots); got != 6 || len(slots) != 1 || slots[0].Length != time.Second || !slots[0].Start.Equal(begin) {
		t.Errorf("%d throttled writes, want 6: %+v", got, slots)
	}
	for _, k := range slots[0].Keys {
		if k.Index != "" || k.Key != keys[0] && k.Key != keys[1] {
			t.Errorf("throttled writes at %+v, want them at %q", k, keys)
		}
	}
	if got := b.ThrottledWrites("another", begin, begin.Add(time.Minute)); len(got) != 0 {
		t.Errorf("another table has %+v", got)
	}
}

// TestOldThrottledWritesAreCoarse checks that the number of throttled writes stays exact for a day, while their
// times get coarser.
func TestOldThrottledWritesAreCoarse(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1})
	begin := b.Now()
	throttled := int64(0)
	for range 10 {
		for range 3 {
			if b.put(t, keyOf("a", "1")) != nil {
				throttled++
			}
		}
		b.advance(7 * time.Second / 4)
	}
	for _, age := range []time.Duration{0, 10 * time.Minute, 15 * time.Minute, 40 * time.Minute, 61 * time.Minute, 23 * time.Hour} {
		b.advance(begin.Add(age).Add(20 * time.Second).Sub(b.Now()))
		if got := writesOf(b.ThrottledWrites(tableName, begin.Add(-time.Minute), b.Now())); got != throttled || throttled == 0 {
			t.Errorf("after %v: %d throttled writes, want %d", age, got, throttled)
		}
	}
	b.advance(2 * time.Hour)
	if got := b.ThrottledWrites(tableName, begin, b.Now()); len(got) != 0 {
		t.Errorf("after a day: %+v", got)
	}
}

// TestThrottledWritesAreKnownSince checks that Since is the limiter's start, and at most a day ago.
func TestThrottledWritesAreKnownSince(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 1, PartitionWCU: 1})
	begin := b.Since()
	for _, age := range []time.Duration{0, time.Hour, 23 * time.Hour, 25 * time.Hour, 100 * time.Hour} {
		b.advance(begin.Add(age).Sub(b.Now()))
		want := begin
		if kept := b.Now().Add(-24 * time.Hour); kept.After(begin) {
			want = kept
		}
		if got := b.Since(); got.Before(want) || got.Sub(want) > 2*time.Minute {
			t.Errorf("after %v: %v, want %v", age, got, want)
		}
	}
}

// writesOf returns the number of throttled writes, or -1 if the keys do not add up to it.
func writesOf(slots []throttle.ThrottledWrites) (sum int64) {
	for _, s := range slots {
		keys := int64(0)
		for _, k := range s.Keys {
			keys += k.Writes
		}
		if keys != s.Writes {
			return -1
		}
		sum += s.Writes
	}
	return sum
}
