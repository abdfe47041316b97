package fold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// rotate closes a stream shard. What follows is its child's.
func (a *arena) rotate() {
	i := a.random.IntN(len(a.streams))
	a.cuts[i] = append(a.cuts[i], len(a.streams[i]))
}

// shard names the stream shard that has a record, and says where that ends.
func (a *arena) shard(i, at int) (id string, end int) {
	for n, cut := range a.cuts[i] {
		if at < cut {
			return fmt.Sprintf("shardId-%d-%d", i, n), cut
		}
	}
	return fmt.Sprintf("shardId-%d-%d", i, len(a.cuts[i])), len(a.streams[i])
}

// merge merges some parts of the histogram, as they are or as they were.
func (a *arena) merge() {
	key := parts.Period{Board: a.name, Label: "all"}.Key()
	store := parts.NewHistograms(a.db, a.names.Rollups, time.Now)
	read, err := store.Read(context.Background(), key)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.random.IntN(3) == 0 {
		read, a.parts = a.parts, read
	}
	some := store.Choose(read, func(parts.Part[board.Histogram]) bool { return a.random.IntN(3) > 0 })
	if len(some) == 0 {
		return
	}
	_, _, err = store.Merge(context.Background(), key, read, some, 0)
	if err != nil && !errors.Is(err, parts.ErrMoved) {
		a.t.Fatal(err)
	}
	a.merges++
}
