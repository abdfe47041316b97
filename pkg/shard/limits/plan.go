package limits

import (
	"cmp"
	"context"
	"slices"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// plan returns the changes that count the call's hits, by the cached use of the write shards. If a random
// write shard of the newest count has quota for all hits, it takes them, or gets it by a transfer.
// Otherwise as few write shards as possible take them together. It returns nil if the quota that one
// transaction can take is too little.
func (h *hit) plan() []change {
	left := h.window.remaining(&h.division)
	n := h.randomShard()
	h.last = n
	if left[n] >= h.hits {
		return []change{{n, h.hits}}
	}
	byQuota := make([]int, h.all) // write shards, the one with the most quota first
	for i := range byQuota {
		byQuota[i] = i
	}
	slices.SortFunc(byQuota, func(a, b int) int { return cmp.Compare(left[b], left[a]) })
	if !h.hasShare(n) {
		donor := byQuota[slices.IndexFunc(byQuota, h.hasShare)]
		if share := left[donor] / int64(h.all); share > h.hits {
			return h.transferAndHit(n, donor, share)
		}
	}
	return takeTogether(byQuota[:min(h.all, dynamo.MaxActions)], left, h.hits)
}

// randomShard returns a write shard of the newest count other than the last one. If the count has
// grown, it is a new one, which relieves those with a share.
func (h *hit) randomShard() int {
	from := 0
	if h.newest > h.first {
		from = h.first
	}
	return from + shard.Another(h.newest-from, h.last-from)
}

// takeTogether returns the changes that take the quota for hits from these write shards in order, or
// nil if they have less.
func takeTogether(shards []int, left []int64, hits int64) (changes []change) {
	for _, n := range shards {
		quota := min(left[n], hits)
		if quota == 0 {
			return nil
		}
		changes = append(changes, change{n, quota})
		if hits -= quota; hits == 0 {
			return changes
		}
	}
	return nil
}

// countAll makes one attempt to count several hits, and sets allowed if it succeeds. If no plan has the
// quota, the limit rejects the hits. Write shards without a share may have more quota than is cached;
// if there are any, countAll first reads all write shards.
func (h *hit) countAll(ctx context.Context) error {
	h.lookUp(ctx)
	for attempt := range 4 * maxMisses {
		changes := h.plan()
		if changes == nil && (attempt > 0 || h.all == h.first) {
			return nil
		}
		if changes != nil {
			took, err := h.applyChanges(ctx, changes)
			if took || err != nil {
				h.allowed = took
				return err
			}
		}
		if err := h.readAll(ctx, true); err != nil {
			return err
		}
	}
	return h.errOutrun()
}

// applyChanges makes a plan's changes, and reports whether the write shards had the quota.
func (h *hit) applyChanges(ctx context.Context, changes []change) (bool, error) {
	if len(changes) == 1 {
		return h.countOn(ctx, changes[0].n)
	}
	return h.transact(ctx, changes)
}
