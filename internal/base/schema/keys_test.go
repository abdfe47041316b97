package schema

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestRollupKeysAreInverse checks that a rollup's keys are parsed back, and are in the bounds of each range with its time.
func TestRollupKeysAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entity := rapid.StringN(1, 100, 512).Draw(t, "entity")
		at := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC()
		pk, sk := RollupKey(entity, at, "shardId-00000001767600000000-a1b2c3d4")
		name, month, err := ParseRollupPartition(pk)
		if err != nil || name != entity || month.Month() != at.Month() || month.Year() != at.Year() {
			t.Fatalf("%q was read as %q, %v, %v", pk, name, month, err)
		}
		start, streamShard, err := ParseRollupSortKey(sk)
		if err != nil || !start.Equal(at.Truncate(time.Hour)) || streamShard != "shardId-00000001767600000000-a1b2c3d4" {
			t.Fatalf("%q was read as %v, %q, %v", sk, start, streamShard, err)
		}
		from := start.Add(time.Duration(rapid.Int64Range(-2400, 1).Draw(t, "from")) * time.Hour)
		to := from.Add(time.Duration(rapid.Int64Range(1, 2400).Draw(t, "hours")) * time.Hour)
		low, high := RollupSortBounds(from, to)
		found := slices.Contains(RollupPartitions(entity, from, to), pk) && sk >= low && sk <= high
		if want := !start.Before(from) && start.Before(to); found != want {
			t.Fatalf("%q, %q is found from %v to %v: %t", pk, sk, from, to, found)
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
	for _, sk := range []string{"", "-", "2026-01-05T13", "2026-01-05T13#", "2026-01-05#s", "2026-01#s", "2026-01-05T13:00#s"} {
		if start, _, err := ParseRollupSortKey(sk); err == nil {
			t.Errorf("%q was read as of %v", sk, start)
		}
	}
}

// periods generates labels of all kinds of periods.
var periods = rapid.SampledFrom([]string{"all", "1970-01-01", "2026-01-05", "2109-05-15", "1970-W01", "2026-W53", "2109-W20"})

// TestEntriesAreReadBack checks that the keys of entries and of their index partitions are parsed back.
func TestEntriesAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		board, player := rapid.StringN(1, 10, 50).Draw(t, "board"), rapid.StringN(1, 10, 50).Draw(t, "player")
		period := periods.Draw(t, "period")
		b, pe, pl, ok := ParseEntryKey(EntryKey(board, period, player))
		if !ok || b != board || pe != period || pl != player {
			t.Fatalf("%q %q %q becomes %q %q %q", board, period, player, b, pe, pl)
		}
		b, pe, n, err := ParseBoardShardKey(BoardShardKey(board, period, 7))
		if err != nil || b != board || pe != period || n != 7 {
			t.Fatalf("%q %q 7 becomes %q %q %d, %v", board, period, b, pe, n, err)
		}
	})
	if _, _, _, ok := ParseEntryKey("L#a#nope#p", "a"); ok {
		t.Error("a key without a period is parsed as an entry's")
	}
}

// TestBoardsAreTargetsAndHaveNotes checks that the keys of a period's note, target and histogram are parsed back.
func TestBoardsAreTargetsAndHaveNotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		board := rapid.StringN(1, 10, 50).Draw(t, "board")
		period := periods.Draw(t, "period")
		pk, sk := NoteKey(board, period)
		got, err := ParseTarget(sk)
		if err != nil || got.Base != (BaseKey{Board, board}) || got.Period != period || sk != BoardRollupKey(board, period) || got.String() != sk {
			t.Fatalf("%q %q becomes %+v, %v", board, period, got, err)
		}
		if !slices.Contains(NotePartitions(), pk) {
			t.Fatalf("%q is none of %q", pk, NotePartitions())
		}
		streamShard := rapid.StringMatching("shardId-[0-9a-f-]{1,30}|~merged").Draw(t, "stream shard")
		pk, fragment := HistogramKey(board, period, streamShard)
		if of, id, ok := ParseHistogramKey(pk, fragment); !ok || of != sk || id != streamShard || !slices.Contains(HistogramPartitions(board, period), pk) {
			t.Fatalf("%q %q becomes %q %q, %t", pk, fragment, of, id, ok)
		}
		if _, _, ok := ParseHistogramKey(sk, fragment); ok {
			t.Fatalf("the partition key of a top, %q, is parsed as a fragment's", sk)
		}
	})
}

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
		if check, ok := ParseMarker(sk); check != want || ok != (want != "") {
			t.Errorf("%q: %q, %v; want %q", sk, check, ok, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "ms"))
		sk := EventSortKey(at, rapid.String().Draw(t, "id"))
		if _, ok := ParseMarker(sk); ok {
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
		if want := (Target{Base: BaseKey{Counter, name}, Partial: source / SourcesPerPartial}); err != nil || got != want || got.String() != SummaryKey(name, source) {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
		at := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "ms")).UTC()
		got, err = ParseTarget(EventTarget(name, at))
		if want := (Target{Base: BaseKey{Event, name}, Hour: at.Truncate(time.Hour)}); err != nil || got != want || got.String() != EventTarget(name, at) {
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
	sk := BoardMarkerSK(at, "a", 7)
	if check, ok := ParseMarker(sk); check != "a" || !ok {
		t.Errorf("%q is of %q, %t", sk, check, ok)
	}
	pk, entry := EntryKey("b#1", "all", "p#1")
	for _, c := range []struct {
		pk, sk string
		want   bool
	}{
		{pk, sk, true}, {pk, entry, false}, {"C#c#0", sk, false}, {"B#b", sk, false}, {"E#e#2026-01-05#0", sk, true},
	} {
		if got := MayBeMarker(c.pk, c.sk); got != c.want {
			t.Errorf("%q, %q: %t", c.pk, c.sk, got)
		}
	}
	pk, entry = EntryKey(sk, "all", "p") // the board has a marker's name
	if MayBeMarker(pk, entry) {
		t.Error("an entry is recognized as a stream marker")
	}
}
