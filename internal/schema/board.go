package schema

import (
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// A player's entry in one period of a board is one item of the items table. Only
// its place in the index by_rank is sharded, so that a change of the shard count
// moves nobody:
//
//	pk          S  L#<board>#<period>#<player>
//	sk          S  the board, since all three may contain the separator
//	score       N
//	at          N  Unix milliseconds of the score that made it what it is
//	rev         N  raised by one with every write; starts at the microsecond of the
//	               first
//	board_shard S  L#<board>#<period>#<shard>; the index's partition key
//	rank_key    S  <score><time>#<player>; the index's sort key, the best first:
//	               28 digits of the score, inverted, 15 of the time in milliseconds
//	expires_at  N  Unix seconds; not for all
//
// Equal scores rank by time, the earlier first, then by player.
const (
	EntryScore = "score"
	EntryAt    = "at"
	EntryRev   = "rev"
)

// Rank keys begin with a digit, so all of them lie between these two. Probes,
// which are in the index as well, lie beyond.
const (
	FirstRankKey = "0"
	LastRankKey  = "~"
)

// EntryKey returns the keys of a player's entry.
func EntryKey(board, period, player string) (pk, sk string) {
	return BaseKey{Board, board}.String() + "#" + period + "#" + player, board
}

// ParseEntryKey is the inverse of EntryKey; ok is false for other items.
func ParseEntryKey(pk, sk string) (board, period, player string, ok bool) {
	rest, ok := strings.CutPrefix(pk, BaseKey{Board, sk}.String()+"#")
	if !ok {
		return "", "", "", false
	}
	period, player, ok = strings.Cut(rest, "#")
	return sk, period, player, ok && isPeriod(period) && player != ""
}

// allLabel is that of all time.
const allLabel = "all"

func isPeriod(label string) bool {
	if label == allLabel {
		return true
	}
	if _, err := time.Parse(time.DateOnly, label); err == nil {
		return true
	}
	year, week, ok := strings.Cut(label, "-W")
	return ok && len(year) == 4 && len(week) == 2 && strings.Trim(year+week, "0123456789") == ""
}

// BoardShardKey returns the index's partition key of a write shard of a board's
// period.
func BoardShardKey(board, period string, n int) string {
	return shard.Hash.Join(BaseKey{Board, board}.String()+"#"+period, n)
}

// ParseBoardShardKey is the inverse of BoardShardKey.
func ParseBoardShardKey(key string) (board, period string, n int, err error) {
	rest, n, err := shard.Hash.Split(key)
	if err != nil {
		return "", "", 0, err
	}
	base, err := ParseBaseKey(rest)
	at := strings.LastIndexByte(base.Name, '#')
	if err != nil || base.Type != Board || at < 0 || !isPeriod(base.Name[at+1:]) {
		return "", "", 0, &shard.KeyError{Key: key, Reason: "it is not a board's in the index"}
	}
	return base.Name[:at], base.Name[at+1:], n, nil
}

// A board's settings are one item of the items table; a board that was never put
// has the defaults:
//
//	pk      S  B#<board>
//	sk      S  -
//	mode    S  best, latest or sum
//	size    N  1 to 1000: entries that the top has
//	periods S  the kinds, comma-separated: all,day,week
//	used    BOOL  true once a score was sent: the mode is settled then
//	v       N  1
const (
	BoardPrefix  = "B#"
	BoardMode    = "mode"
	BoardSize    = "size"
	BoardPeriods = "periods"
	BoardUsed    = "used"
)

// DefaultBoardSize and MaxBoardSize are the top's.
const (
	DefaultBoardSize = 100
	MaxBoardSize     = 1000
)

// SettingsKey returns the keys of a board's settings.
func SettingsKey(board string) (pk, sk string) { return BoardPrefix + board, SoleSK }

// A board's period has in the rollups table the top, one item that all stream
// shards fold into, and for each stream shard a part of the histogram of scores:
//
//	pk         S  L#<board>#<period>
//	sk         S  top, or h#<stream shard>, or h#~merged for what was merged of those
//	v          N  1
//	expires_at N  Unix seconds; not for all
//
// The top:
//
//	version  N  raised by each change, which is conditional on it; starts at the
//	            microsecond of the first
//	places   B  the first in rank, packed, with the rev of each entry
//	whole    BOOL  true when places has all entries of the period
//	as_of    N  Unix milliseconds of the last change
//
// A histogram's part:
//
//	seq      S  sequence number of the last record that was folded, as in an event
//	            rollup's part; with EmptiedSuffix behind it once the part gave what
//	            it had to the merged one
//	cells    B  how many entries' scores lie in each cell, packed; a stream shard's
//	            may be below 0
//	as_of    N  Unix milliseconds of the last fold
const (
	BoardVersion    = "1"
	TopSK           = "top"
	TopVersion      = "version"
	TopPlaces       = "places"
	TopWhole        = "whole"
	HistogramPrefix = "h#"
	HistogramCells  = "cells"
)

// A top that may lack something is noted in the rollups table, to be looked at again:
// one that was made from the index, which may have lagged, or for the first time, and
// one that a fold gave up. The note stays until a look that was late enough:
//
//	pk    S  N#<0 to 7>, by the board and period
//	sk    S  L#<board>#<period>
//	since N  Unix milliseconds of the first cause that was not looked at
//	last  N  Unix milliseconds of the newest
//	v     N  1
const (
	NotePrefix = "N#"
	NoteSince  = "since"
	NoteLast   = "last"
)

// noteSalts is how many partition keys the notes are spread over.
const noteSalts = 8

// NotePartitions returns the partition keys of all notes.
func NotePartitions() []string { return salted(NotePrefix, noteSalts) }

// NoteKey returns the keys of a board period's note.
func NoteKey(board, period string) (pk, sk string) {
	sk = BoardRollupKey(board, period)
	return NotePrefix + strconv.Itoa(shard.Calculated(sk, noteSalts)), sk
}

// BoardRollupKey returns the partition key of a board's period in the rollups
// table, which also names it as a target of folds.
func BoardRollupKey(board, period string) string {
	return BaseKey{Board, board}.String() + "#" + period
}
