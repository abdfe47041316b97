package parts

import (
	"slices"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Top holds the first players of a board's period: all that its reach covers. It holds more players than readers want, so
// that the index is rarely read when players fall or leave.
type Top struct {
	Reach
	entries []TopEntry // by rank
}

// NewTop returns the top of a board that has no entries yet.
func NewTop() *Top { return &Top{Reach: Everything()} }

// UnknownTop returns a top that holds no player and covers no place.
func UnknownTop() *Top { return &Top{} }

// Entries returns the entries by rank. The caller must not change them.
func (t *Top) Entries() []TopEntry { return t.entries }

// Clone returns a copy that may be changed.
func (t *Top) Clone() *Top {
	return &Top{t.Reach, slices.Clone(t.entries)}
}

// Same reports whether two tops have equal entries and reach. It does not compare Unsure.
func (t *Top) Same(other *Top) bool {
	return !t.Exceeds(other.Reach) && !other.Exceeds(t.Reach) &&
		slices.EqualFunc(t.entries, other.entries, func(a, b TopEntry) bool { return a.Place == b.Place && a.Rev == b.Rev })
}

// indexOf returns the index of a player's entry, or -1.
func (t *Top) indexOf(player string) int {
	return slices.IndexFunc(t.entries, func(e TopEntry) bool { return e.Player == player })
}

// Holds reports whether a player is in the top.
func (t *Top) Holds(player string) bool { return t.indexOf(player) >= 0 }

// FoldRecord folds the state in a stream record. For a player in the top, the higher rev wins; a delete has the rev of
// the deleted entry, and wins over it. Another player never enters the top from a record, which may be old and
// redelivered: if the player may belong in the top, mustRead is true, and the caller reads the entry.
func (t *Top) FoldRecord(s EntryState) (mustRead bool) {
	index := t.indexOf(s.Player)
	if index < 0 {
		return s.Present && t.Covers(s.Place)
	}
	held := t.entries[index]
	isDelete := s.Rev == held.Rev && !s.Present
	if s.Rev > held.Rev || isDelete {
		t.putEntry(index, s, held.Unsure)
	}
	return false
}

// FoldEntry folds the state of a player's entry, read consistently after the top was read.
//
// The entry may change before the top is stored. The record of that change may then fold into the stored top, which
// lacks the player, and be ignored. So a player who enters is unsure until FoldEntry gets the same rev again, from a
// read after the top was stored. Later writes fold into a top that has the player.
func (t *Top) FoldEntry(s EntryState) {
	index := t.indexOf(s.Player)
	entered := index < 0
	unsure := entered || t.entries[index].Unsure && t.entries[index].Rev != s.Rev
	t.putEntry(index, s, unsure)
}

// putEntry removes the entry at an index, unless it is -1, and adds one for s, if s has a place in the top.
func (t *Top) putEntry(oldIndex int, s EntryState, unsure bool) {
	if oldIndex >= 0 {
		t.entries = slices.Delete(t.entries, oldIndex, oldIndex+1)
	}
	if !s.Present || !t.Covers(s.Place) {
		return
	}
	index, _ := slices.BinarySearchFunc(t.entries, s.Place, func(e TopEntry, p boards.Place) int { return ComparePlaces(e.Place, p) })
	t.entries = slices.Insert(t.entries, index, TopEntry{Place: s.Place, Rev: s.Rev, Unsure: unsure})
}

// UnsurePlayers returns the players whose entries must be read again.
func (t *Top) UnsurePlayers() []string {
	var players []string
	for _, e := range t.entries {
		if e.Unsure {
			players = append(players, e.Player)
		}
	}
	return players
}

// MarkSure marks all entries as sure, after they were read again and found unchanged.
func (t *Top) MarkSure() {
	for i := range t.entries {
		t.entries[i].Unsure = false
	}
}

// Widen extends the top's reach, if to is wider. The caller then folds the entries of the players between the old and
// the new reach.
func (t *Top) Widen(to Reach) {
	if to.Exceeds(t.Reach) {
		t.Reach = to
	}
}

// Bounds of a top's packed form, in bytes. An item has up to 400 KB.
const (
	maxTopBytes = 300 << 10 // a larger top is trimmed
	lowTopBytes = 250 << 10 // a larger top is never short
)

// TopSize returns how many entries a top holds at most for readers that want size entries.
func TopSize(size int) int { return size + max(20, size/5) }

// Trim removes the last entries beyond maxEntries, or beyond the bound in bytes. A top that loses entries is no longer
// whole.
func (t *Top) Trim(maxEntries int) {
	keep, bytes := 0, maxOverhead
	for keep < min(maxEntries, len(t.entries)) && bytes+entrySize(t.entries[keep]) <= maxTopBytes {
		bytes += entrySize(t.entries[keep])
		keep++
	}
	if keep < len(t.entries) { // keep is above 0: one entry is far below the bound
		t.entries, t.Reach = t.entries[:keep], DownTo(t.entries[keep-1].Place)
	}
}

// IsShort reports whether the top may lack some of the first size players, so that the index must be read.
func (t *Top) IsShort(size int) bool {
	return !t.whole && len(t.entries) < size && len(t.Bytes()) < lowTopBytes
}
