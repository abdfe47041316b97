package board

import (
	"cmp"
	"strings"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Compare is negative when a is before b in rank. It is the order of
// [boards.Place.RankKey] as text, without making it.
func Compare(a, b boards.Place) int {
	return cmp.Or(b.Score.Cmp(a.Score), cmp.Compare(a.At.UnixMilli(), b.At.UnixMilli()), strings.Compare(a.Player, b.Player))
}

// MaxRev is the highest rev that can be told from others: twice it fits in 64 bits.
const MaxRev = 1<<62 - 1

// State is what a player's entry is, as a stream record or a reading says.
type State struct {
	boards.Place       // the Player; the rest only if Present
	Rev          int64 // of the entry; of the last that there was if not Present
	Present      bool
}

// Entry is a player in a top.
type Entry struct {
	boards.Place
	Rev int64 // of the state that the place is from
	// Unsure: the player entered by a reading of its entry, and nobody has read
	// the entry again since the top with it was stored. See [Top.Take].
	Unsure bool
}
