package limits

import (
	"cmp"
	"context"
	"slices"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// plan returns the changes that count the call's hits, by what this process knows of the write shards. A random
// write shard of the newest count takes them all, if it has the quota, or another transfers it. If
// too little remains for that, as few write shards as possible take them together. It returns nil if even
// those of one transaction have too little.
func (h *hit) plan() []change {
	left := h.window.remaining(&h.division)
	from, count := 0, h.newest
	if h.newest > h.first { // new write shards relieve those with a share
		from, count = h.first, h.newest-h.first
	}
	n := from + shard.Another(count, h.last-from)
	if h.last = n; left[n] >= h.hits {
		return []change{{n, h.hits}}
	}
	most := make([]int, h.all) // write shards, by what they have left
	for i := range most {
		most[i] = i
	}
	slices.SortFunc(most, func(a, b int) int { return cmp.Compare(left[b], left[a]) })
	donor := slices.IndexFunc(most, func(n int) bool { return n < h.first })
	if share := left[most[donor]] / int64(h.all); n >= h.first && share > h.hits {
		return h.exchange(n, most[donor], share)
	}
	var changes []change
	want := h.hits
	for _, n := range most[:min(len(most), dynamo.MaxActions)] {
		quota := min(left[n], want)
		if quota == 0 {
			return nil
		}
		changes = append(changes, change{n, quota})
		if want -= quota; want == 0 {
			return changes
		}
	}
	return nil
}

// countAll makes one attempt to count several hits, and sets allowed if it succeeds. Only a write shard without a
// share can get more quota than the process knows of. So without one, a plan fails only if the limit
// rejects the hits; otherwise after all write shards were read.
func (h *hit) countAll(ctx context.Context) error {
	h.lookUp(ctx)
	for attempt := range 4 * maxMisses {
		changes := h.plan()
		if changes == nil && (attempt > 0 || h.all == h.first) {
			return nil
		}
		if changes != nil {
			took, err := h.apply(ctx, changes)
			if took || err != nil {
				h.allowed = took
				return err
			}
		}
		if err := h.readAll(ctx, true); err != nil {
			return err
		}
	}
	return h.outrun()
}

// apply makes a plan's changes, and reports whether the write shards had the quota.
func (h *hit) apply(ctx context.Context, changes []change) (bool, error) {
	if len(changes) == 1 {
		return h.update(ctx, changes[0].n)
	}
	return h.transact(ctx, changes)
}
