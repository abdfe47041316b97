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

// hit is the state of one call of a Limiter.
type hit struct {
	*Limiter
	division
	hits   int64  // the number of hits of the call
	base   string // the base key in the shard map
	call   observe.Call
	entry  shardmap.Entry // the base key's entry in the shard map
	now    time.Time
	window *limitWindow

	last    int   // the write shard of the last attempt, -1 before the first
	misses  int   // attempts that found no remaining quota
	used    int64 // the write shard's use after the hits
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
// cached entry of the shard map, and refreshes no view. When waiting hits did refresh their views,
// more of them transferred quota at once, and fewer hits of a storm were answered in time
// (docs/performance/storm-limits.txt).
func (h *hit) countHit(ctx context.Context) error {
	h.lookUp(ctx)
	for range h.all + 4*maxMisses {
		n, ok := h.window.chooseShard(&h.division, h.last)
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
	return h.errOutrun()
}

// lookUp sets the newest cached entry of the shard map.
func (h *hit) lookUp(ctx context.Context) {
	if entry, err := h.shards.Lookup(ctx, h.base, h.now); err == nil {
		h.useEntry(entry)
	}
}

func (h *hit) errOutrun() error {
	return fmt.Errorf("limit %q: %w: other hits used the remaining quota first; retry the call", h.Key, dynamo.ErrOutrun)
}

// observedWrite returns an update of write shard n with its attempt and probe.
func (h *hit) observedWrite(n int, u *types.Update) shardmap.Write {
	return shardmap.Write{
		Action:  types.TransactWriteItem{Update: u},
		Attempt: observe.Sent(kind.Limit, h.base, h.entry, n, h.now),
		Probe:   observe.TableProbe(u.Key),
	}
}

// change adds to a write shard's use. A negative change adds to its quota.
type change struct {
	n    int
	used int64
}

// transferAndHit returns the two changes that transfer share hits of the donor's quota to write shard n,
// and count the call's hits there.
func (h *hit) transferAndHit(n, donor int, share int64) []change {
	return []change{{donor, share}, {n, h.hits - share}}
}

// writes returns the writes of changes, which make up one transaction.
func (h *hit) writes(changes []change) []shardmap.Write {
	list := make([]shardmap.Write, len(changes))
	for i, c := range changes {
		update := h.addUsed
		if c.used > 0 {
			update = h.takeQuota
		}
		list[i] = h.observedWrite(c.n, update(c.n, c.used))
		list[i].Transfer = len(changes) > 1
	}
	return list
}

// sharesFull reports whether all write shards with a share are known to be full. Then no more quota
// is transferred.
func (h *hit) sharesFull() bool { return h.window.full(&h.division, h.first) }

// full reports whether the hit is known to exceed the limit.
func (h *hit) full() bool { return h.window.full(&h.division, h.all) }

// tryShard counts the hit on one write shard, and reports whether it had remaining quota.
func (h *hit) tryShard(ctx context.Context, n int) (bool, error) {
	if h.hasShare(n) {
		return h.countOn(ctx, n)
	}
	final := h.sharesFull() // before the attempt: no more quota can arrive after it
	used, known := h.window.knownUse(n)
	noQuota := known && used >= 0
	if noQuota && !final {
		return h.transferQuota(ctx, n)
	}
	took, err := h.countOn(ctx, n)
	switch {
	case took, err != nil:
		return took, err
	case !final:
		return h.transferQuota(ctx, n)
	}
	h.window.setSpent(n, h.Max)
	return false, nil
}

// countOn counts the hits on write shard n, and reports whether it had quota for them.
func (h *hit) countOn(ctx context.Context, n int) (bool, error) {
	w := h.observedWrite(n, h.takeQuota(n, h.hits))
	in := dynamo.UpdateInput(w.Action.Update)
	in.ReturnValues = types.ReturnValueUpdatedNew
	out, err := h.client.UpdateItem(ctx, in, dynamo.NoRetry)
	h.call.Observe(ctx, w.Attempt, err)
	if there, failed := dynamo.ConditionFailed(err); failed {
		return false, h.cacheItem(n, there)
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
	h.window.cacheUsed(n, used, h.hasShare(n))
	return nil
}

// transferQuota transfers part of another write shard's quota to write shard n, and counts the hit
// there. It reports whether there was quota.
func (h *hit) transferQuota(ctx context.Context, n int) (bool, error) {
	donor, share := h.window.donor(&h.division)
	if share <= 1 {
		h.last = donor
		return h.tryShard(ctx, donor)
	}
	return h.transact(ctx, h.transferAndHit(n, donor, share))
}

// transact makes several changes at once, and reports whether all write shards had the quota.
func (h *hit) transact(ctx context.Context, changes []change) (bool, error) {
	// The known use is read before the transaction. After it, another hit of this process may
	// already have cached a change, which would then be added twice.
	known := make([]int64, len(changes))
	in, writes := &dynamodb.TransactWriteItemsInput{}, h.writes(changes)
	for i, c := range changes {
		known[i], _ = h.window.knownUse(c.n)
		in.TransactItems = append(in.TransactItems, writes[i].Action)
	}
	_, err := h.client.TransactWriteItems(ctx, in, dynamo.NoRetry)
	h.call.ObserveAs(ctx, writes[len(writes)-1].Attempt, shard.Inconclusive)
	if failed := dynamo.FailedConditions(err); len(failed) > 0 {
		for _, i := range failed {
			there, _ := dynamo.ActionFailed(err, i)
			if err := h.cacheItem(changes[i].n, there); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	for i, c := range changes {
		switch {
		case err == nil:
			h.window.cacheUsed(c.n, known[i]+c.used, h.hasShare(c.n))
		case !h.hasShare(c.n): // this or another process's transaction may have transferred quota to it
			h.window.forget(c.n)
		}
	}
	return err == nil, err
}
