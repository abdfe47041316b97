package limits

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// hit is one hit on its way.
type hit struct {
	*Limiter
	division
	base   string         // the key's in the shard map
	id     uint64         // tells it from others
	entry  shardmap.Entry // what the shard map says of the key
	now    time.Time
	window *limitWindow

	last    int   // write shard of the last attempt, -1 before
	misses  int   // attempts that found no room
	used    int64 // what the write shard had used after this hit
	allowed bool
}

// farAhead is after all changes.
var farAhead = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// maxMisses is how many write shards a hit finds full before it reads them all.
const maxMisses = 3

// by has the hit go by an entry of the shard map.
func (h *hit) by(entry shardmap.Entry) {
	h.entry, h.first, h.newest = entry, entry.History.At(h.start), entry.History.Newest()
	h.all = max(h.first, entry.Shards(h.start, farAhead))
}

// take makes one try to find room, and tells by allowed whether it did. The key may have
// grown since the try before, as this process knows; what others have made of it, its next
// hit goes by: where waiting hits renewed their views, more of them took over room at the same
// time, and storms on limits were answered worse (docs/performance/storm-limits.txt).
func (h *hit) take(ctx context.Context) error {
	if entry, err := h.shards.Lookup(ctx, h.base, h.now); err == nil {
		h.by(entry)
	}
	for range h.all + 4*maxMisses {
		n, ok := h.window.choose(&h.division, h.last)
		if !ok {
			return nil
		}
		h.last = n
		took, err := h.try(ctx, n)
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
	return fmt.Errorf("%w: room was gone each time", dynamo.ErrOutrun)
}

// partsFull tells whether all write shards with a part are known to be full: from
// then on none gives room to another.
func (h *hit) partsFull() bool { return h.window.full(&h.division, h.first) }

// full tells whether the hit is known to be refused.
func (h *hit) full() bool { return h.window.full(&h.division, h.all) }

// try takes room of one write shard, and tells whether there was any.
func (h *hit) try(ctx context.Context, n int) (bool, error) {
	last := h.partsFull() // what is not there now will not come
	if used, known := h.window.known(n); n >= h.first && known && used >= 0 && !last {
		return h.takeOver(ctx, n)
	}
	in := dynamo.UpdateInput(h.update(n))
	in.ReturnValues, in.ReturnValuesOnConditionCheckFailure = types.ReturnValueUpdatedNew, types.ReturnValuesOnConditionCheckFailureAllOld
	out, err := h.client.UpdateItem(ctx, in, dynamo.NoRetry)
	if n >= h.first || h.newest <= h.first { // those that give room to others say nothing
		watching.Tell(ctx, h.told.Watch, shardmap.Attempt{Key: h.base, Request: h.id, Entry: h.entry, Shard: n, At: h.now}, err, dynamo.KeyRange)
	}
	if there, failed := dynamo.ConditionFailed(err); failed {
		if err := h.saw(n, there); err != nil {
			return false, err
		}
		if n < h.first {
			return false, nil
		}
		if !last {
			return h.takeOver(ctx, n)
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
	return true, h.saw(n, out.Attributes)
}

// saw takes in a write shard's item; none is one of which nothing is used.
func (h *hit) saw(n int, it dynamo.Item) error {
	used, err := dynamo.Integer(it, schema.LimitUsed)
	if err != nil {
		return fmt.Errorf("limit %q, write shard %d: %w", h.Key, n, err)
	}
	h.window.saw(n, used, n < h.first)
	return nil
}

// takeOver gives a write shard without room a part of another's, and takes the hit
// out of that.
func (h *hit) takeOver(ctx context.Context, n int) (bool, error) {
	donor, share := h.window.donor(&h.division)
	if share <= 1 {
		h.last = donor
		return h.try(ctx, donor)
	}
	// Read before the transaction: after it, another hit of this process may have seen
	// the share in the item already, and it would be counted twice.
	given, _ := h.window.known(donor)
	taken, _ := h.window.known(n)
	actions := h.exchange(n, donor, share)
	loads, _ := h.told.Loads(ctx, actions, h.id, h.now)
	_, err := h.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, dynamo.NoRetry)
	h.told.Told(ctx, loads, err)
	if there, failed := dynamo.ActionFailed(err, 0); failed {
		return false, h.saw(donor, there)
	}
	if err != nil {
		h.window.forget(n) // another process may have given it room meanwhile
		return false, err
	}
	h.window.saw(donor, given+share, true)
	h.window.saw(n, taken+1-share, false)
	return true, nil
}
