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
	if got := writesOf(slots); got != 6 || len(slots) != 1 || !slots[0].Start.Equal(begin) {
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
