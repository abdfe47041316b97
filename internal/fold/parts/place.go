package parts

import (
	"cmp"
	"strings"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// ComparePlaces compares places by rank: it is negative if a ranks before b. The order is that of [boards.Place.RankKey] as
// text.
func ComparePlaces(a, b boards.Place) int {
	return cmp.Or(b.Merit().Cmp(a.Merit()), cmp.Compare(a.At.UnixMilli(), b.At.UnixMilli()), strings.Compare(a.Player, b.Player))
}

// MaxEntryRev is the highest rev that an entry may have. A packed top stores twice the rev, plus a flag, in 64 bits.
const MaxEntryRev = 1<<62 - 1

// EntryState is the state of a player's entry in a stream record or a read.
type EntryState struct {
	boards.Place       // only the Player is set if not Present
	Rev          int64 // of the entry, or of the deleted entry if not Present
	Present      bool  // the entry exists
}

// TopEntry is a player in a top.
type TopEntry struct {
	boards.Place
	Rev int64 // of the state that the place is from
	// Unsure means that the player entered by a read of the entry, and the entry was not read again
	// since the top with it was stored. See [Top.FoldEntry].
	Unsure bool
}
