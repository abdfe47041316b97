package libtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hotshard/hotshard/pkg/shard"
)

// Observed is a shard.Observer that records the attempts of many goroutines.
type Observed struct {
	mu       sync.Mutex
	ByKey    map[string]int  // calls
	calls    map[string]bool // by number and key
	Attempts []shard.Attempt // conclusive ones
	Act      func()          // called after each throttle; may be nil
}

// NewObserved returns an observer without attempts.
func NewObserved() *Observed { return &Observed{ByKey: map[string]int{}, calls: map[string]bool{}} }

func (w *Observed) ObserveAttempt(_ context.Context, a shard.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if call := fmt.Sprint(a.Call, " ", a.Key); !w.calls[call] {
		w.calls[call] = true
		w.ByKey[a.Key]++
	}
	if a.Outcome != shard.Inconclusive {
		w.Attempts = append(w.Attempts, a)
	}
	if a.Outcome == shard.Throttled && w.Act != nil {
		w.Act()
	}
}

// Shown lists the outcomes of conclusive attempts by write shard and version, each once. It also
// lists attempts without a call number.
func (w *Observed) Shown() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, a := range w.Attempts {
		outcome := map[shard.Outcome]string{shard.Accepted: "accepted", shard.Throttled: "throttled", shard.Conflicted: "in conflict"}[a.Outcome]
		list = append(list, fmt.Sprintf("%s %d %s by %d", a.Key, a.Shard, outcome, a.Version))
		if a.Call == 0 {
			list = append(list, "an attempt without a call number")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Refused lists the write shards of attempts that were throttled or in conflict.
func (w *Observed) Refused() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, a := range w.Attempts {
		if a.Outcome != shard.Accepted {
			list = append(list, fmt.Sprintf("%s %d", a.Key, a.Shard))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
