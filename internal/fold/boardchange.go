package fold

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// entryChange is the change that a record makes to a player's entry.
type entryChange struct {
	state                   parts.EntryState
	from, to                *boards.Score // the entry's merit before and after the change; nil without an entry
	wasOutdated, isOutdated bool          // the entry's row in the index was outdated before the change, and is after it
	lifetime                lifetime
	sequence                string // the record's sequence number
	paddedSequence          string // the sequence number with leading zeros: text order is number order
}

// entryChangeOf returns the change that a record makes to a player's entry, or an error if the record can't be read.
// The state after a delete has only the player and the deleted entry's rev.
func entryChangeOf(r *ddbstream.Record, player string) (t entryChange, err error) {
	t.sequence = string(r.Sequence)
	if t.paddedSequence, err = parts.Sequence(t.sequence); err != nil {
		return t, err
	}
	newest := r.New
	if r.Name == ddbstream.Remove {
		newest = r.Old
	}
	var outdated bool
	if t.state, t.lifetime, outdated, err = stateOfEntry(newest, player); err != nil {
		return t, err
	}
	merit := t.state.Merit()
	switch r.Name {
	case ddbstream.Insert:
		t.to, t.isOutdated = &merit, outdated
	case ddbstream.Modify:
		var old parts.EntryState
		if old, _, t.wasOutdated, err = stateOfEntry(r.Old, player); err != nil {
			return t, fmt.Errorf("its old image: %w", err)
		}
		before := old.Merit()
		t.from, t.to, t.isOutdated = &before, &merit, outdated
	default: // Remove
		t.from, t.wasOutdated = &merit, outdated
		t.state = parts.EntryState{Place: boards.Place{Player: player}, Rev: t.state.Rev}
	}
	return t, nil
}

// stateOfEntry reads a player's entry from an image. outdated reports whether the entry was written after its row in the
// index: rev and row_rev differ.
func stateOfEntry(image ddbstream.Image, player string) (s parts.EntryState, l lifetime, outdated bool, err error) {
	score, hasScore := image.Number(schema.EntryScore)
	at, hasAt := image.Number(schema.EntryAt)
	rev, hasRev := image.Number(schema.EntryRev)
	rowRev, hasRowRev := image.Number(schema.EntryRowRev)
	if !hasScore || !hasAt || !hasRev || !hasRowRev {
		return s, l, false, errors.New("it lacks the number score, at, rev or row_rev")
	}
	outdated = rev != rowRev
	s = parts.EntryState{Place: boards.Place{Player: player}, Present: true}
	if s.Score, err = boards.ParseScore(score); err != nil {
		return s, l, outdated, err
	}
	millis, err := strconv.ParseInt(at, 10, 64)
	if err != nil || millis < 0 {
		return s, l, outdated, fmt.Errorf("its at is %.40q, not a time in milliseconds", at)
	}
	if s.Rev, err = strconv.ParseInt(rev, 10, 64); err != nil || s.Rev < 0 || s.Rev > parts.MaxEntryRev {
		return s, l, outdated, fmt.Errorf("its rev is %.40q, not a whole number up to %d", rev, int64(parts.MaxEntryRev))
	}
	s.At = time.UnixMilli(millis).UTC()
	row, _ := image.String(schema.RankKey)
	place, _ := boards.ParseRankKey(row) // a damaged one is found when the entry is read
	s.Lowest = place.Lowest
	digits, expires := image.Number(schema.ExpiresAt)
	l, err = lifetimeOf(digits, expires)
	return s, l, outdated, err
}

// raisedBoard returns the board whose setting size, the number of entries in its top, a record raises; ok is false for any
// other record.
func raisedBoard(r *ddbstream.Record) (name string, ok bool) {
	pk, _ := r.Keys.String(schema.PK)
	name, ok = strings.CutPrefix(pk, schema.BoardPrefix)
	if !ok || r.Name != ddbstream.Modify {
		return "", false
	}
	sizeIn := func(image ddbstream.Image) int {
		digits, _ := image.Number(schema.BoardSize)
		n, _ := strconv.Atoi(digits) // 0 if the image has no size
		return n
	}
	return name, sizeIn(r.New) > sizeIn(r.Old)
}

// lifetime is how long the items of a board's period are kept. The zero value is unknown.
type lifetime struct {
	known bool
	end   time.Time // zero if they are kept for ever
}

// longer returns the longer of two lifetimes. If one is unknown, it returns the other.
func (l lifetime) longer(other lifetime) lifetime {
	switch {
	case !l.known:
		return other
	case !other.known || l.end.IsZero():
		return l
	case other.end.IsZero() || other.end.After(l.end):
		return other
	}
	return l
}

// lifetimeOf parses the digits of a TTL attribute, which an item has if it expires.
func lifetimeOf(digits string, expires bool) (lifetime, error) {
	if !expires {
		return lifetime{known: true}, nil
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return lifetime{}, fmt.Errorf("its %s is %.40q, not a whole number", schema.ExpiresAt, digits)
	}
	return lifetime{true, time.Unix(seconds, 0)}, nil
}
