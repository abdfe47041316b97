package counters_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// TestCounterSumsItsShards checks that Sum adds up all write shards, and that a counter without a write is 0.
func TestCounterSumsItsShards(t *testing.T) {
	t.Parallel()
	d := libtest.Deploy(t)
	ctx := libtest.Within(t)
	d.SetShards(t, "C#a#b/é", "1:7")
	writer := counters.NewWriter(d.Client, d.Names.Items, d.Shards, counters.Options{})
	reader := counters.NewReader(d.Client, d.Names.Items, d.Shards)
	for i := range 100 {
		if err := writer.Add(ctx, "a#b/é", int64(i-20), libtest.Later); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := reader.Sum(ctx, "a#b/é")
	if err != nil || sum.Value.Int64() != 2950 || sum.Shards != 7 {
		t.Fatalf("got %v, %v; want 2950 over 7 shards", sum, err)
	}
	if sum, err = reader.Sum(ctx, "never"); err != nil || sum.Value.Sign() != 0 || sum.Shards != 1 {
		t.Fatalf("a counter without a write: %v, %v; want 0 over 1 shard", sum, err)
	}
}
