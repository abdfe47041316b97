package limits

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// hit is the state of one call of Hit.
type hit struct {
	*Limiter
	division
	base   string // the base key in the shard map
	call   observe.Call
	entry  shardmap.Entry // the base key's entry of the shard map
	now    time.Time
	window *limitWindow

	last    int   // write shard of the last attempt, -1 before the first
	misses  int   // attempts that found no remaining quota
	used    int64 // what the write shard had used after this hit
	allowed bool
}

// farAhead is later than any change.
var farAhead = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// maxMisses is how many full write shards a hit finds before it reads them all.
const maxMisses = 3

// useEntry sets the shard map's entry that the hit uses.
func (h *hit) useEntry(entry shardmap.Entry) {
	h.entry, h.first, h.newest = entry, entry.History.At(h.start), entry.History.Newest()
	h.all = max(h.first, entry.Shards(h.start, farAhead))
}

// countHit makes one attempt to count the hit, and sets allowed if it succeeds. It uses the newest
// entry that this process knows, and renews no view. When waiting hits did renew their views,
// more of them transferred quota at once, and fewer hits of a storm were answered in time
// (docs/performance/storm-limits.txt).
func (h *hit) countHit(ctx context.Context) error {
	if entry, err := h.shards.Lookup(ctx, h.base, h.now); err == nil {
		h.useEntry(entry)
	}
	for range h.all + 4*maxMisses {
		n, ok := h.window.choose(&h.division, h.last)
		if !ok {
			return nil
		}
		h.last = n
		took, err := h.tryShard(ctx, n)
		if took || err != nil {
			h.allowed = took
			return err
		}
		if h.misses++; h.misses%maxMisses == 0 && h.all > 1 {
			if err := h.readAll(ctx, true); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("limit %q: %w: other hits used the remaining quota first; retry the call", h.Key, dynamo.ErrOutrun)
}

// write returns the write of an update of write shard n. If the key has grown within the window,
// the write shards with which the window began give quota to the new ones.
func (h *hit) write(n int, u *types.Update) shardmap.Write {
	return shardmap.Write{
		Action:   types.TransactWriteItem{Update: u},
		Attempt:  observe.Sent(kind.Limit, h.base, h.entry, n, h.now),
		Probe:    observe.TableProbe(u.Key),
		Transfer: n < h.first && h.first < h.newest,
	}
}

// exchange returns the two writes of one transaction that transfer a share of the donor's quota to
// write shard n, and the hit out of that.
func (h *hit) exchange(n, donor int, share int64) (give, take shardmap.Write) {
	give, take = h.write(donor, h.donate(donor, share)), h.write(n, h.addUsed(n, 1-share))
	give.Transfer, take.Transfer = true, true
	return give, take
}

// sharesFull reports whether all write shards with a share are known to be full: they transfer
// no more quota then.
func (h *hit) sharesFull() bool { return h.window.full(&h.division, h.first) }

// full reports whether the hit is known to exceed the limit.
func (h *hit) full() bool { return h.window.full(&h.division, h.all) }

// tryShard counts the hit on one write shard, and reports whether it had remaining quota.
func (h *hit) tryShard(ctx context.Context, n int) (bool, error) {
	last := h.sharesFull() // no quota can arrive after this
	if used, known := h.window.known(n); n >= h.first && known && used >= 0 && !last {
		return h.transferQuota(ctx, n)
	}
	w := h.write(n, h.update(n))
	in := dynamo.UpdateInput(w.Action.Update)
	in.ReturnValues, in.ReturnValuesOnConditionCheckFailure = types.ReturnValueUpdatedNew, types.ReturnValuesOnConditionCheckFailureAllOld
	out, err := h.client.UpdateItem(ctx, in, dynamo.NoRetry)
	if w.Transfer {
		h.call.ObserveAs(ctx, w.Attempt, shard.Inconclusive)
	} else {
		h.call.Observe(ctx, w.Attempt, err)
	}
	if there, failed := dynamo.ConditionFailed(err); failed {
		if err := h.cacheItem(n, there); err != nil {
			return false, err
		}
		if n < h.first {
			return false, nil
		}
		if !last {
			return h.transferQuota(ctx, n)
		}
		h.window.spend(n, h.Max)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if h.used, err = dynamo.Integer(out.Attributes, schema.LimitUsed); err != nil {
		return false, err
	}
	return true, h.cacheItem(n, out.Attributes)
}

// cacheItem adds a write shard's item to the window's cache; no item means no use.
func (h *hit) cacheItem(n int, it dynamo.Item) error {
	used, err := dynamo.Integer(it, schema.LimitUsed)
	if err != nil {
		return fmt.Errorf("limit %q, write shard %d: %w", h.Key, n, err)
	}
	h.window.cacheUsed(n, used, n < h.first)
	return nil
}

// transferQuota transfers a share of another write shard's quota to write shard n, and takes the
// hit out of it.
func (h *hit) transferQuota(ctx context.Context, n int) (bool, error) {
	donor, share := h.window.donor(&h.division)
	if share <= 1 {
		h.last = donor
		return h.tryShard(ctx, donor)
	}
	// Read before the transaction: after it, another hit of this process may have seen
	// the share in the item already, and it would be counted twice.
	given, _ := h.window.known(donor)
	taken, _ := h.window.known(n)
	give, take := h.exchange(n, donor, share)
	_, err := h.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{give.Action, take.Action},
	}, dynamo.NoRetry)
	h.call.ObserveAs(ctx, take.Attempt, shard.Inconclusive)
	if there, failed := dynamo.ActionFailed(err, 0); failed {
		return false, h.cacheItem(donor, there)
	}
	if err != nil {
		h.window.forget(n) // another process may have transferred quota to it meanwhile
		return false, err
	}
	h.window.cacheUsed(donor, given+share, true)
	h.window.cacheUsed(n, taken+1-share, false)
	return true, nil
}
