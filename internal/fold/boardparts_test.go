package fold

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/fold/board"
	"github.com/hotshard/hotshard/internal/fold/parts"
)

// rotate closes a stream shard. Later records are in its child.
func (a *arena) rotate() {
	i := a.random.IntN(len(a.streams))
	a.cuts[i] = append(a.cuts[i], len(a.streams[i]))
}

// shard returns the id of the stream shard with a record, and the end of its records.
func (a *arena) shard(i, at int) (id string, end int) {
	for n, cut := range a.cuts[i] {
		if at < cut {
			return fmt.Sprintf("shardId-%d-%d", i, n), cut
		}
	}
	return fmt.Sprintf("shardId-%d-%d", i, len(a.cuts[i])), len(a.streams[i])
}

// merge merges some fragments of the histogram, by a new or an old read.
func (a *arena) merge() {
	key := a.period().Key()
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
