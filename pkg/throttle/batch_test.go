package throttle_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestPartialBatchWrite checks that a batch writes what fits and leaves the rest unprocessed. It is throttled if nothing
// fits.
func TestPartialBatchWrite(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 3})
	keys := b.apart(t, 2)
	hot := []values{keyOf(keys[0], "1"), itemOf(keys[0], "2", sized(1.5)), keyOf(keys[0], "3"), keyOf(keys[0], "4")}
	left, err := b.batchWrite(t, putRequests(append(hot, keyOf(keys[1], "1"))...))
	require.NoError(t, err)
	wantEqual(t, "unprocessed items", putRequests(hot[2:]...), left, ignoreUnexported)
	if got := len(b.image(t)); got != 3 {
		t.Errorf("%d items were written, want 3", got)
	}
	_, err = b.batchWrite(t, putRequests(hot[2:]...))
	wantThrottled(t, "a batch of which nothing fits", err, tableWriteThrottled)
	if s := b.Stats(); s.WriteUnits != 4 || s.Throttled != 1+2 {
		t.Errorf("statistics: %+v, want 4 units, and a throttled request and two items", s)
	}
}
