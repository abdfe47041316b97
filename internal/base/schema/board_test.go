package schema

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/kind"
)

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
		if err != nil || got.Base != (BaseKey{kind.Board, board}) || got.Period != period || sk != BoardRollupKey(board, period) || got.String() != sk {
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
