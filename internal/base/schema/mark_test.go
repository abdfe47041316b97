package schema

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestNoEventIsAMark checks which sort keys are stream markers, and that no event's is.
func TestNoEventIsAMark(t *testing.T) {
	for sk, want := range map[string]string{
		"2026-01-05!a#1":                    "a",
		"2026-01-05T13~a#1":                 "a",
		"2026-01-05T13:00:00.000Z!a#1":      "a",
		"2026-01-05T13:00:00.000Z#x!a#1":    "",
		"2026-01-05T13:00:00.000Z#!a#1":     "",
		"2026-01-05T13!":                    "",
		"2026-01-05T13!#1":                  "",
		ProbeSK:                             "",
		SoleSK:                              "",
		"2026-01-05T13:00:00.000Zlater!a#1": "",
	} {
		if audit, ok := ParseMark(sk); audit != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", sk, audit, ok, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "ms"))
		sk := EventSortKey(at, rapid.String().Draw(t, "id"))
		if _, ok := ParseMark(sk); ok {
			t.Errorf("the event %q is parsed as a stream marker", sk)
		}
	})
}

// TestTargetsAreReadBack checks that targets of counters and events are parsed back.
func TestTargetsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.String().Draw(t, "name")
		source := rapid.IntRange(0, 1000).Draw(t, "source")
		got, err := ParseTarget(SummaryKey(name, source))
		if want := (Target{Base: BaseKey{kind.Counter, name}, Partial: source / SourcesPerPartial}); err != nil || got != want || got.String() != SummaryKey(name, source) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		bucket := rapid.SampledFrom([]shard.Bucket{shard.Hour, shard.Day}).Draw(t, "bucket")
		at := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "ms")).UTC()
		got, err = ParseTarget(EventTarget(name, bucket, at))
		if want := (Target{Base: BaseKey{kind.Event, name}, Bucket: bucket, Start: at.Truncate(bucket.Width())}); err != nil || got != want || got.String() != EventTarget(name, bucket, at) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	})
	for _, bad := range []string{"", "x", "C#name", "E#name#2026-13-01", "L#a#1", UnknownTarget("shardId-1", "12")} {
		if got, err := ParseTarget(bad); err == nil {
			t.Errorf("%q is parsed as %+v", bad, got)
		}
	}
}

// TestMarksBesideEntries checks that a board's stream marker is recognized by its keys, and no entry is.
func TestMarksBesideEntries(t *testing.T) {
	at := time.Date(2026, 1, 5, 23, 0, 0, 0, time.UTC)
	sk := BoardMarkSK(at, "a", 7)
	if audit, ok := ParseMark(sk); audit != "a" || !ok {
		t.Errorf("%q is of %q, %t", sk, audit, ok)
	}
	pk, entry := EntryKey("b#1", "all", "p#1")
	for _, c := range []struct {
		pk, sk string
		want   bool
	}{
		{pk, sk, true}, {pk, entry, false}, {"C#c#0", sk, false}, {"B#b", sk, false}, {"E#e#2026-01-05#0", sk, true},
	} {
		if got := HasMarks(c.pk, c.sk); got != c.want {
			t.Errorf("%q, %q: %t", c.pk, c.sk, got)
		}
	}
	pk, entry = EntryKey(sk, "all", "p") // the board has a marker's name
	if HasMarks(pk, entry) {
		t.Error("an entry is recognized as a stream marker")
	}
}
