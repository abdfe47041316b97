package board

import (
	"slices"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Top holds the first players of a board's period: all that its reach covers.
//
// It holds some more than readers want, so that it seldom needs another source
// when players fall or leave.
type Top struct {
	Reach
	entries []Entry // in rank
}

// NewTop returns the top of a board that has no entries yet.
func NewTop() *Top { return &Top{Reach: Everything()} }

// UnknownTop returns a top that holds nobody and knows of nobody.
func UnknownTop() *Top { return &Top{} }

// Entries returns the entries in rank, the first first. They must not be changed.
func (t *Top) Entries() []Entry { return t.entries }

// Clone returns a copy that may be changed.
func (t *Top) Clone() *Top {
	return &Top{t.Reach, slices.Clone(t.entries)}
}

// Same tells whether two tops say the same. How sure they are of it is left out.
func (t *Top) Same(other *Top) bool {
	return !t.Wider(other.Reach) && !other.Wider(t.Reach) &&
		slices.EqualFunc(t.entries, other.entries, func(a, b Entry) bool { return a.Place == b.Place && a.Rev == b.Rev })
}

func (t *Top) find(player string) int {
	return slices.IndexFunc(t.entries, func(e Entry) bool { return e.Player == player })
}

// Holds tells whether a player is in the top.
func (t *Top) Holds(player string) bool { return t.find(player) >= 0 }

// Verdict is what a record did to a top.
type Verdict int

// The verdicts.
const (
	Ignored Verdict = iota // it is known already, or none of the top's business
	Changed                // a held player has another place now, or another rev
	Left                   // a held player is not in the top any more
	Asks                   // a player that is not held may belong here: its entry must be read
)

// Offer takes in what a stream record says. For a player that the top holds the
// higher rev counts. A player that it doesn't hold is never taken from a record,
// which may be an old one that was delivered again.
func (t *Top) Offer(s State) Verdict {
	at := t.find(s.Player)
	switch {
	case at < 0 && s.Present && t.Covers(s.Place):
		return Asks
	case at < 0, s.Rev < t.entries[at].Rev, s.Rev == t.entries[at].Rev && s.Present:
		return Ignored
	}
	if !t.put(at, s, t.entries[at].Unsure) {
		return Left
	}
	return Changed
}

// Take takes in what a player's entry is by a consistent reading that was made
// after the top was read.
//
// The entry may change before the top is stored, and the record of that be folded
// into the top as it was before, which doesn't have the player and ignores it. So
// a player who enters is unsure: the entry must be read again once the top is
// stored. What is written after that reading folds into a top that has the player.
func (t *Top) Take(s State) {
	at := t.find(s.Player)
	unsure := at < 0 || t.entries[at].Unsure && t.entries[at].Rev != s.Rev
	t.put(at, s, unsure)
}

// put replaces the entry at an index, or adds one for -1, and returns false when
// the player has no place here.
func (t *Top) put(at int, s State, unsure bool) bool {
	if at >= 0 {
		t.entries = slices.Delete(t.entries, at, at+1)
	}
	if !s.Present || !t.Covers(s.Place) {
		return false
	}
	at, _ = slices.BinarySearchFunc(t.entries, s.Place, func(e Entry, p boards.Place) int { return Compare(e.Place, p) })
	t.entries = slices.Insert(t.entries, at, Entry{Place: s.Place, Rev: s.Rev, Unsure: unsure})
	return true
}

// Unsure returns the players whose entries must be read again.
func (t *Top) Unsure() []string {
	var players []string
	for _, e := range t.entries {
		if e.Unsure {
			players = append(players, e.Player)
		}
	}
	return players
}

// Sure notes that all entries were read again and found as they are here.
func (t *Top) Sure() {
	for i := range t.entries {
		t.entries[i].Unsure = false
	}
}

// Widen makes the top reach further down, if that is further. The caller then offers or
// takes those who may be between.
func (t *Top) Widen(to Reach) {
	if to.Wider(t.Reach) {
		t.Reach = to
	}
}

// Bounds of a top's packed form, in bytes: an item has 400 KB. A top is trimmed to
// the upper, and as long as it has the lower nothing is missing in it.
const (
	maxTopBytes = 300 << 10
	lowTopBytes = 250 << 10
)

// Hold is how many entries a top is to have at most for readers that want so many.
func Hold(size int) int { return size + max(20, size/5) }

// Trim lets go of the last in rank beyond so many, or beyond the bound in bytes. A top
// that loses some is not whole any more.
func (t *Top) Trim(most int) {
	keep, bytes := 0, maxOverhead
	for keep < min(most, len(t.entries)) && bytes+entrySize(t.entries[keep]) <= maxTopBytes {
		bytes += entrySize(t.entries[keep])
		keep++
	}
	if keep < len(t.entries) { // and not 0: one entry is far below the bound
		t.entries, t.Reach = t.entries[:keep], DownTo(t.entries[keep-1].Place)
	}
}

// Short tells whether the top may lack some of the first that readers want so many
// of, so that another source has to be asked.
func (t *Top) Short(size int) bool {
	return !t.whole && len(t.entries) < size && len(t.Bytes()) < lowTopBytes
}
