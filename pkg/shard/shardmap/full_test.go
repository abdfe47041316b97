package shardmap

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// TestFullMapGrowsNoFurtherKey checks that a map with the maximum of keys refuses to grow or pin further ones, but not to
// change its own, and that a view has all keys, even if other processes added too many.
func TestFullMapGrowsNoFurtherKey(t *testing.T) {
	f := enginetest.NewMapTable(10, 0, 0)
	for n := range 4 {
		change(f, 1, fmt.Sprint("C#k", n), 4)
	}
	c, now, ctx := NewChanger(&strictMap{f}, New(f, "m", Options{}), ChangerOptions{}), time.Now(), t.Context()
	c.maxKeys = 3
	require.NoError(t, c.Load(ctx, now))
	grow := func(ctx context.Context, key string) error {
		seen, err := c.Read(ctx, key)
		if err == nil {
			_, err = c.GrowFrom(ctx, seen, 8, Note{}, now)
		}
		return err
	}
	if err := grow(ctx, "C#new"); !errors.Is(err, ErrFull) {
		t.Errorf("growing a further key: %v, want ErrFull", err)
	}
	if _, err := c.Pin(ctx, "C#new", 8, Note{}, now); !errors.Is(err, ErrFull) {
		t.Errorf("pinning a further key: %v, want ErrFull", err)
	}
	require.NoError(t, c.NotePartitions(ctx, "items", 5, now))
	for n := range 4 {
		key := fmt.Sprint("C#k", n)
		require.NoError(t, grow(ctx, key))
		if entry, err := c.Lookup(ctx, key, now); err != nil || entry.History.Newest() != 8 {
			t.Errorf("%s has %d write shards, %v; want 8", key, entry.History.Newest(), err)
		}
	}
}
