package live

import (
	"slices"
	"sync"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// maxSplits is the maximum number of splits that are kept.
const maxSplits = 100

// splits keeps the newest splits, in the order in which they were seen.
type splits struct {
	mu   sync.Mutex
	list []eventsource.Split
}

// put adds a split, or replaces the parent's earlier one: a child may be listed later.
func (s *splits) put(split eventsource.Split) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.list, func(other eventsource.Split) bool { return other.Parent == split.Parent })
	if at >= 0 {
		s.list[at] = split
		return
	}
	s.list = append(s.list, split)
	s.list = s.list[max(0, len(s.list)-maxSplits):]
}

// Splits returns the newest splits of the stream shards read, 100 at most, the newest last.
func (r *Reader) Splits() []eventsource.Split {
	r.splits.mu.Lock()
	defer r.splits.mu.Unlock()
	list := slices.Clone(r.splits.list)
	slices.SortStableFunc(list, func(a, b eventsource.Split) int { return a.Time.Compare(b.Time) })
	return list
}
