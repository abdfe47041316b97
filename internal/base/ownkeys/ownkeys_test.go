package ownkeys_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/base/ownkeys"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestJoinAndSplit checks that partition keys are split into the parts of which they were joined.
func TestJoinAndSplit(t *testing.T) {
	for _, c := range []struct {
		keys        ownkeys.Keys
		name, label string
		n           int
		pk          string
	}{
		{ownkeys.Keys{Format: shard.HashShard}, "acme", "", 0, "acme"},
		{ownkeys.Keys{Format: shard.HashShard}, "acme", "", 3, "acme#SHARD_3"},
		{ownkeys.Keys{Format: shard.HashShard}, "a#1", "", 0, "a#1"},
		{ownkeys.Keys{Format: shard.HashShard, Bucket: shard.Day}, "acme", "2026-01-05", 0, "acme#2026-01-05"},
		{ownkeys.Keys{Format: shard.HashShard, Bucket: shard.Minute}, "a#b", "2026-01-05T13:04", 12, "a#b#2026-01-05T13:04#SHARD_12"},
		{ownkeys.Keys{Format: "-s", Bucket: shard.Hour}, "acme", "2026-01-05T13", 1, "acme-2026-01-05T13-s1"},
	} {
		if pk := c.keys.Join(c.name, c.label, c.n); pk != c.pk {
			t.Errorf("%+v: joined %q, want %q", c.keys, pk, c.pk)
		}
		if name, label, n, ok := c.keys.Split(c.pk); name != c.name || label != c.label || n != c.n || !ok {
			t.Errorf("%q: split into %q, %q, %d, %v", c.pk, name, label, n, ok)
		}
	}
	days := ownkeys.Keys{Format: shard.HashShard, Bucket: shard.Day}
	for _, pk := range []string{"", "acme", "acme2026-01-05", "acme#2026-13-05", "acme#2026-01-05#SHARD_03", "2026-01-05"} {
		if name, label, n, ok := days.Split(pk); ok {
			t.Errorf("%q has no bucket, but is split into %q, %q, %d", pk, name, label, n)
		}
	}
}
