package schema

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/pkg/shard"
)

// TestRollupKeysAreInverse checks that a rollup's keys are parsed back, and are in the bounds of each range with its time.
func TestRollupKeysAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entity := rapid.StringN(1, 100, 512).Draw(t, "entity")
		width := rapid.SampledFrom([]shard.Bucket{shard.Hour, shard.Day}).Draw(t, "width")
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC()
		pk, sk := RollupKey(entity, width, at, "shardId-00000001767600000000-a1b2c3d4")
		name, month, err := ParseRollupPartition(pk)
		if err != nil || name != entity || month.Month() != at.Month() || month.Year() != at.Year() {
			t.Fatalf("%q was read as %q, %v, %v", pk, name, month, err)
		}
		bucket, start, streamShard, err := ParseRollupSortKey(sk)
		if err != nil || bucket != width || !start.Equal(at.Truncate(width.Width())) || streamShard != "shardId-00000001767600000000-a1b2c3d4" {
			t.Fatalf("%q was read as %q, %v, %q, %v", sk, bucket, start, streamShard, err)
		}
		from := at.Add(-time.Duration(rapid.Int64Range(0, 100*24*3600).Draw(t, "before")) * time.Second)
		to := at.Add(time.Duration(rapid.Int64Range(1, 100*24*3600).Draw(t, "after")) * time.Second)
		low, high := RollupSortBounds(from, to)
		if !slices.Contains(RollupPartitions(entity, from, to), pk) || sk < low || sk > high {
			t.Fatalf("%q, %q is not found from %v to %v", pk, sk, from, to)
		}
	})
}

// TestRollupPartitions checks that a range has a partition for each month, with an exclusive end.
func TestRollupPartitions(t *testing.T) {
	at := time.Date(2026, 1, 31, 23, 0, 0, 0, time.UTC)
	if got := RollupPartitions("e#1", at, at.Add(time.Hour)); !slices.Equal(got, []string{"E#e#1#2026-01"}) {
		t.Errorf("an hour: %q", got)
	}
	if got := RollupPartitions("e", at, at.Add(time.Hour+1)); !slices.Equal(got, []string{"E#e#2026-01", "E#e#2026-02"}) {
		t.Errorf("into the next month: %q", got)
	}
	if got := RollupPartitions("e", at, at); got != nil {
		t.Errorf("an empty range: %q", got)
	}
}

// TestOtherKeysAreNoRollups checks that other items' keys are no rollup's.
func TestOtherKeysAreNoRollups(t *testing.T) {
	for _, pk := range []string{"", "C#a#0", "K#2026-01-05T00#1", "E#a", "E#a#2026", "E#a#2026-01-05", "E#2026-01"} {
		if entity, _, err := ParseRollupPartition(pk); err == nil {
			t.Errorf("%q was read as of %q", pk, entity)
		}
	}
	for _, sk := range []string{"", "-", "2026-01-05", "2026-01-05#", "2026-01#s", "2026-01-05T13:00#s"} {
		if _, start, _, err := ParseRollupSortKey(sk); err == nil {
			t.Errorf("%q was read as of %v", sk, start)
		}
	}
}
