package wingtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Watched is what a watcher was told.
type Watched struct {
	mu       sync.Mutex
	ByKey    map[string]int // requests
	requests map[uint64]int // by ID
	Attempts []shardmap.Attempt
}

// NewWatched returns one that was told nothing.
func NewWatched() *Watched { return &Watched{ByKey: map[string]int{}, requests: map[uint64]int{}} }

func (w *Watched) Requested(r shardmap.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ByKey[r.Key]++
	w.requests[r.ID]++
}

func (w *Watched) Attempted(_ context.Context, a shardmap.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Attempts = append(w.Attempts, a)
}

// told lists what became of attempts on which write shards by which version, each once. An
// attempt of a request that was not told of before stands out.
func (w *Watched) Told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, a := range w.Attempts {
		outcome := map[shardmap.Outcome]string{shardmap.Taken: "taken", shardmap.OverLimit: "over its limit", shardmap.Conflicted: "in conflict"}[a.Outcome]
		list = append(list, fmt.Sprintf("%s %d %s by %d", a.Key, a.Shard, outcome, a.Entry.Version))
		if w.requests[a.Request] == 0 {
			list = append(list, "an attempt of no request")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// refused lists the write shards that were over their limits or in conflict.
func (w *Watched) Refused() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, a := range w.Attempts {
		if a.Outcome != shardmap.Taken {
			list = append(list, fmt.Sprintf("%s %d", a.Key, a.Shard))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
