package board

import (
	"cmp"
	"strings"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Compare returns a negative number if a ranks before b. It has the order of [boards.Place.RankKey]
// as text, without building the key.
func Compare(a, b boards.Place) int {
	return cmp.Or(b.Merit().Cmp(a.Merit()), cmp.Compare(a.At.UnixMilli(), b.At.UnixMilli()), strings.Compare(a.Player, b.Player))
}

// MaxRev is the highest rev that an entry may have: twice it fits in 64 bits.
const MaxRev = 1<<62 - 1

// State is the state of a player's entry in a stream record or a read.
type State struct {
	boards.Place       // the Player; the rest only if Present
	Rev          int64 // of the entry; of the last entry if not Present
	Present      bool
}

// Entry is a player in a top.
type Entry struct {
	boards.Place
	Rev int64 // of the state that the place is from
	// Unsure means that the player entered by a read of the entry, and the entry was not read again
	// since the top with it was stored. See [Top.Take].
	Unsure bool
}
