package once_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestInvalidKeysAreRejected checks that a call whose key would be shared with other calls
// fails with ErrMisused, and writes nothing.
func TestInvalidKeysAreRejected(t *testing.T) {
	calls := once.New(&libtest.Scripted{}, "t", once.Options{})
	for name, key := range map[string]string{
		"empty": "", "invalid UTF-8": "\xff", "truncated rune": "order-\xc3", "too long": strings.Repeat("k", 2047),
	} {
		t.Run(name, func(t *testing.T) {
			call := once.Call{Key: key, Digest: []byte("d")}
			writes := func(context.Context) ([]shardmap.Write, error) {
				t.Error("the call's writes were built")
				return nil, nil
			}
			if _, err := calls.Do(t.Context(), call, enginetest.Later, writes); !errors.Is(err, shard.ErrMisused) {
				t.Errorf("Do: %v, want ErrMisused", err)
			}
			if _, err := calls.Before(t.Context(), call, enginetest.Later); !errors.Is(err, shard.ErrMisused) {
				t.Errorf("Before: %v, want ErrMisused", err)
			}
		})
	}
}

// TestLongestKeyIsUsable checks against the engine that a key of the documented length works, and
// that keys which differ in their last byte are two calls.
func TestLongestKeyIsUsable(t *testing.T) {
	d := libtest.Deploy(t)
	shards := shardmap.New(d.Client, d.Names.ShardMap, shardmap.Options{})
	calls := once.New(d.Client, d.Names.Items, once.Options{})
	writer := counters.NewWriter(d.Client, d.Names.Items, shards, counters.Options{})
	for _, last := range []string{"a", "b", "a"} {
		_, err := calls.Do(t.Context(), once.Call{Key: strings.Repeat("k", 2045) + last}, enginetest.Later, func(ctx context.Context) ([]shardmap.Write, error) {
			return []shardmap.Write{writer.AddTransact(ctx, "orders", 1, enginetest.Later)}, nil
		})
		if err != nil {
			t.Fatalf("key ending in %s: %v", last, err)
		}
	}
	if sum, err := counters.NewReader(d.Client, d.Names.Items, shards).Sum(t.Context(), "orders"); err != nil || sum.Value.String() != "2" {
		t.Errorf("the counter is %v, %v; want 2", sum.Value, err)
	}
}
