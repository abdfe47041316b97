package hotkey

import (
	"cmp"
	"strings"

	"github.com/hotshard/hotshard/internal/schema"
)

// partition is a partition key of the table, or of one of its indexes. One text may
// be both, so the two are counted apart.
type partition struct{ index, key string }

func tablePartition(key string) partition { return partition{key: key} }

// appendPartition adds the form that an index's partition has in a sketch. Names of
// indexes have no control characters.
func appendPartition(to []byte, index string, key []byte) []byte {
	return append(append(append(to, index...), 0), key...)
}

// parsePartition is the inverse.
func parsePartition(text string) partition {
	index, key, _ := strings.Cut(text, "\x00")
	return partition{index, key}
}

func (p partition) compare(q partition) int {
	return cmp.Or(strings.Compare(p.index, q.index), strings.Compare(p.key, q.key))
}

// boardShard is a write shard of a board. Each of the board's periods has a
// partition of the index for it.
type boardShard struct {
	board string
	n     int
}

// board returns the write shard of a board, and the period, that a partition is
// for; ok is false for others. The table's keys under a board's prefix are never
// one: they are players' entries, and a player may be called 7.
func (p partition) board() (b boardShard, period string, ok bool) {
	if p.index != schema.ByRank {
		return b, "", false
	}
	board, period, n, err := schema.ParseBoardShardKey(p.key)
	return boardShard{board, n}, period, err == nil
}
