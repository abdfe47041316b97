package schema

import (
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// A player's entry in one period of a board is one item of the items table. Only its row in the
// index by_rank is sharded, so a change of the shard count moves no item:
//
//	pk          S  L#<board>#<period>#<player>
//	sk          S  the board: shows where its name ends in pk, since names may contain #
//	score       N
//	at          N  Unix milliseconds when the score was reached
//	rev         N  raised by one with every write; starts at the microsecond of the
//	               first
//	board_shard S  L#<board>#<period>#<shard>; the index's partition key
//	rank_key    S  <merit><time>#<player>; the index's sort key, the best first:
//	               28 digits of the score, inverted, 15 of the time in milliseconds. On a
//	               board in mode lowest, 28 digits of the score's negative, and < before
//	               the player
//	row_rev     N  the rev whose score and time are in rank_key; if it is not rev, the row in
//	               the index is outdated until it is moved
//	expires_at  N  Unix seconds; absent for the period of all time
//
// Equal scores rank by time, the earlier first, then by player. The index has no score, at or rev:
// a write of these alone costs nothing there.
const (
	EntryScore  = "score"
	EntryAt     = "at"
	EntryRev    = "rev"
	EntryRowRev = "row_rev"
)

// FirstRankKey and LastRankKey are bounds of all rank keys, which begin with a digit. The rank keys of probes are outside.
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

// allLabel is the label of all time, and monthLayout the layout of a month's.
const (
	allLabel    = "all"
	monthLayout = "2006-01"
)

// isPeriod reports whether a label is of all time, a month or a day, or has the form of an ISO week, such as 2026-W02.
func isPeriod(label string) bool {
	if label == allLabel {
		return true
	}
	for _, layout := range []string{time.DateOnly, monthLayout} {
		if _, err := time.Parse(layout, label); err == nil {
			return true
		}
	}
	year, week, ok := strings.Cut(label, "-W")
	return ok && len(year) == 4 && len(week) == 2 && strings.Trim(year+week, "0123456789") == ""
}

// BoardShardKey returns the partition key, in the index, of a write shard of a board's period.
func BoardShardKey(board, period string, n int) string {
	return Key{Base: BaseKey{Board, board}, Bucket: period, Shard: n}.String()
}

// ParseBoardShardKey is the inverse of BoardShardKey.
func ParseBoardShardKey(key string) (board, period string, n int, err error) {
	parsed, err := parseKeyOf(Board, key, "it is not a board's write shard in the index")
	return parsed.Base.Name, parsed.Bucket, parsed.Shard, err
}

// A board's settings are one item of the items table. A board without this item has the default settings:
//
//	pk      S  B#<board>
//	sk      S  -
//	mode    S  best, lowest, latest or sum
//	size    N  1 to 1000: number of entries in the top
//	periods S  the lengths of its periods, comma-separated: all,day,week,month
//	used    BOOL  true after the first score: the mode can't change then
//	rev     N  raised by each call for settings, which is conditional on it
//	v       N  1
const (
	BoardPrefix  = "B#"
	BoardMode    = "mode"
	BoardSize    = "size"
	BoardPeriods = "periods"
	BoardUsed    = "used"
	BoardRev     = "rev"
)

// DefaultBoardSize and MaxBoardSize are the default and the largest number of entries of a top.
const (
	DefaultBoardSize = 100
	MaxBoardSize     = 1000
)

// SettingsKey returns the keys of a board's settings.
func SettingsKey(board string) (pk, sk string) { return BoardPrefix + board, SoleSK }

// A period of a board has these items in the rollups table: the top, into which all stream shards are folded, and for each
// stream shard a fragment of the histogram of scores:
//
//	pk         S  L#<board>#<period> of the top, L#<board>#<period>#<0 to 3> of a
//	              fragment, by its stream shard: one partition would throttle the
//	              folds of a busy board
//	sk         S  top, or h#<stream shard>, or h#~merged for merged fragments
//	v          N  1
//	expires_at N  Unix seconds; absent for the period of all time
//
// The top:
//
//	version  N  raised by each change, which is conditional on it; starts at the
//	            microsecond of the first
//	places   B  the entries of the first ranks, packed, each with its rev
//	whole    BOOL  true when places has all entries of the period
//	as_of    N  Unix milliseconds of the last change
//
// A fragment of a histogram:
//
//	seq      S  sequence number of the last folded record, as in an event rollup's
//	            fragment; followed by EmptiedSuffix after the fragment was merged
//	cells    B  number of entries whose scores lie in each cell, and of outdated rows, packed; a
//	            stream shard's number may be below 0
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

// A note of a top, in the rollups table, requests a recheck of a top that may be incomplete: it is new, was computed from
// the index, which may lag, or lacks changes of a fold that gave up. A recheck that began long enough after the note's last
// cause deletes the note. A note of rows names players whose rows in the index are outdated:
//
//	pk      S   N#<0 to 7>, by the board and period
//	sk      S   L#<board>#<period> of the top,
//	            m#L#<board>#<period>#<stream shard>#<sequence number> of rows
//	since   N   Unix milliseconds of the first cause that was not rechecked
//	last    N   Unix milliseconds of the newest cause
//	players SS  of a note of rows
//	v       N   1
const (
	NotePrefix  = "N#"
	NoteSince   = "since"
	NoteLast    = "last"
	NotePlayers = "players"
	RowsPrefix  = "m#"
)

// noteSalts is the number of partition keys of notes.
const noteSalts = 8

// NotePartitions returns the partition keys of all notes.
func NotePartitions() []string { return salted(NotePrefix, noteSalts) }

// NoteKey returns the keys of the note of a board period's top.
func NoteKey(board, period string) (pk, sk string) {
	sk = BoardRollupKey(board, period)
	return NotePrefix + strconv.Itoa(shard.Calculated(sk, noteSalts)), sk
}

// RowsNoteKey returns the keys of a note of outdated rows of a board's period. A fold passes the stream shard and the
// sequence number of the batch's first record that showed them; a check passes "check" and a random text.
func RowsNoteKey(board, period, streamShard, sequence string) (pk, sk string) {
	pk, sk = NoteKey(board, period)
	return pk, RowsPrefix + sk + "#" + streamShard + "#" + sequence
}

// ParseRowsNote returns the board's period, in BoardRollupKey's form, from the sort key of a note of
// outdated rows; ok is false for other notes.
func ParseRowsNote(sk string) (boardPeriod string, ok bool) {
	rest, ok := strings.CutPrefix(sk, RowsPrefix)
	for range 2 { // the sequence number and the stream shard
		end := strings.LastIndexByte(rest, '#')
		if !ok || end < 0 {
			return "", false
		}
		rest = rest[:end]
	}
	return rest, true
}

// histogramSalts is the number of partition keys of a histogram's fragments.
const histogramSalts = 4

// HistogramPartitions returns the partition keys of a histogram's fragments.
func HistogramPartitions(board, period string) []string {
	return salted(BoardRollupKey(board, period)+"#", histogramSalts)
}

// HistogramKey returns the keys of a stream shard's fragment of a histogram.
func HistogramKey(board, period, streamShard string) (pk, sk string) {
	partitions := HistogramPartitions(board, period)
	return partitions[shard.Calculated(streamShard, len(partitions))], HistogramPrefix + streamShard
}

// ParseHistogramKey returns the BoardRollupKey and the stream shard of a histogram's fragment. ok
// is false for other items.
func ParseHistogramKey(pk, sk string) (boardPeriod, streamShard string, ok bool) {
	streamShard, hasPrefix := strings.CutPrefix(sk, HistogramPrefix)
	salt := strconv.Itoa(shard.Calculated(streamShard, histogramSalts))
	boardPeriod, hasSalt := strings.CutSuffix(pk, "#"+salt)
	if !hasPrefix || !hasSalt {
		return "", "", false
	}
	return boardPeriod, streamShard, true
}

// BoardRollupKey returns the partition key of the top of a board's period. It is also the name of the period's [Target].
func BoardRollupKey(board, period string) string {
	return BaseKey{Board, board}.String() + "#" + period
}
