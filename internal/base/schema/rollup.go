package schema

import (
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// An event rollup aggregates an entity's events of an hour. Each stream shard has a fragment of its own, so
// folds of different stream shards don't conflict; a reader merges the fragments:
//
//	pk         S     E#<entity>#<month>, such as E#sensor-1#2026-01
//	sk         S     <hour>#<stream shard>, the hour as 2026-01-05T13
//	v          N     1
//	seq        S     sequence number of the last folded record, 40 digits
//	events     N     events
//	measures   M     by field: M of n (events with it), sum, min and max, all N and exact
//	skipped    N     numbers that are not in measures; absent for 0
//	as_of      N     Unix milliseconds of the last fold
//	expires_at N     Unix seconds; absent if rollups are kept forever
//
// A fold replaces the attributes, if seq is still as the fold knows it. So any other change of a fragment must change
// its seq too. Sequence numbers are compared as text, so text may be appended to a seq without changing its order.
// Fragments that have not changed for long, and fragments that a check found wrong, are merged into the fragment
// MergedPart. The emptied fragments keep their seq.
const (
	RollupSequence = "seq"
	RollupEvents   = "events"
	RollupMeasures = "measures"
	RollupSkipped  = "skipped"
)

// MergedPart stands for the stream shard in the sort key of the merged fragment. Folds don't write that fragment. Its
// seq is a ULID, which each merge replaces.
const MergedPart = "~merged"

// RollupSequenceDigits is the length of a sequence number in a fragment: padded with zeros, so
// that text order is number order.
const RollupSequenceDigits = 40

const rollupMonth = "2006-01"

// RollupKey returns the keys of a stream shard's fragment of the rollup of the hour that holds t.
func RollupKey(entity string, t time.Time, streamShard string) (pk, sk string) {
	return rollupPartition(entity, t), shard.Hour.Label(t) + "#" + streamShard
}

func rollupPartition(entity string, t time.Time) string {
	return BaseKey{Event, entity}.String() + "#" + t.UTC().Format(rollupMonth)
}

// ParseRollupPartition returns the entity and the start of the month of an event rollup's partition key. It splits at the
// last separator, since names may contain separators.
func ParseRollupPartition(pk string) (entity string, month time.Time, err error) {
	rest, ok := strings.CutPrefix(pk, TraitsOf(Event).Prefix)
	end := strings.LastIndexByte(rest, '#')
	if !ok || end < 0 {
		return "", month, &shard.KeyError{Key: pk, Reason: "it is not the partition key of an event rollup"}
	}
	if month, err = time.Parse(rollupMonth, rest[end+1:]); err != nil {
		return "", month, &shard.KeyError{Key: pk, Reason: "it does not end with a month"}
	}
	return rest[:end], month, nil
}

// ParseRollupSortKey returns the hour, and the stream shard, of an event rollup's sort key.
func ParseRollupSortKey(sk string) (hour time.Time, streamShard string, err error) {
	label, streamShard, _ := strings.Cut(sk, "#")
	if hour, err = shard.Hour.Start(label); err != nil || streamShard == "" {
		return hour, "", &shard.KeyError{Key: sk, Reason: "it is not the sort key of an event rollup"}
	}
	return hour, streamShard, nil
}

// RollupPartitions returns the partition keys, one for each month, of an entity's rollups between from and to, which is
// excluded. The caller bounds the range.
func RollupPartitions(entity string, from, to time.Time) []string {
	from = from.UTC()
	if !from.Before(to) {
		return nil
	}
	var list []string
	for month := time.Date(from.Year(), from.Month(), 1, 0, 0, 0, 0, time.UTC); month.Before(to); month = month.AddDate(0, 1, 0) {
		list = append(list, rollupPartition(entity, month))
	}
	return list
}

// RollupSortBounds returns bounds of the sort keys of the hours from from to to, which is excluded. Both are whole hours.
func RollupSortBounds(from, to time.Time) (low, high string) {
	return shard.Hour.Label(from), shard.Hour.Label(to) // a sort key is longer than its hour
}
