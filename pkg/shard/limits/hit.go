package limits

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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
	Limit
	base   string         // the key's in the shard map
	id     uint64         // tells it from others
	entry  shardmap.Entry // what the shard map says of the key
	bucket string         // the window's label
	now    time.Time
	start  time.Time // of the window
	first  int       // write shards with a part of Max: as many as there were at start
	newest int       // write shards to be written to
	all    int       // write shards that may have been written to in the window
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

// part is a write shard's part of Max. It never falls when Max rises, so that the
// parts of the highest Max bound what is used whatever other calls went by.
func (h *hit) part(n int) int64 {
	switch first := int64(h.first); {
	case n >= h.first:
		return 0
	case int64(n) < h.Max%first:
		return h.Max/first + 1
	default:
		return h.Max / first
	}
}

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
		n, ok := h.choose()
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

// choose returns a write shard that may have room: one of the newest count, if there is one.
// Those with a part come last where there are others, since the others take their room over
// from them, which their partitions have to bear. Of those others, three of four hits go to one
// that is known to have room; the fourth brings some to another.
func (h *hit) choose() (n int, ok bool) {
	h.window.mu.Lock()
	defer h.window.mu.Unlock()
	var room, bare, parted, older []int
	for n := range h.all {
		switch {
		case h.isFull(n):
		case n >= h.newest:
			older = append(older, n)
		case n < h.first:
			parted = append(parted, n)
		case h.window.used[n] < 0 && n != h.last:
			room = append(room, n)
		default:
			bare = append(bare, n)
		}
	}
	if rand.IntN(4) == 0 {
		room, bare = bare, room
	}
	for _, list := range [][]int{room, bare, parted, older} {
		if len(list) == 0 {
			continue
		}
		n = list[rand.IntN(len(list))]
		if n == h.last { // one more draw is spread enough
			n = list[rand.IntN(len(list))]
		}
		return n, true
	}
	return 0, false
}

// isFull tells whether a write shard is known to have no room for good. The caller
// holds the window's lock.
func (h *hit) isFull(n int) bool {
	if n >= h.first {
		under, spent := h.window.spent[n]
		return spent && h.Max <= under
	}
	used, known := h.window.used[n]
	return h.part(n) == 0 || known && used >= h.part(n)
}

// partsFull tells whether all write shards with a part are known to be full: from
// then on none gives room to another.
func (h *hit) partsFull() bool { return h.fullUpTo(h.first) }

// full tells whether the hit is known to be refused.
func (h *hit) full() bool { return h.fullUpTo(h.all) }

func (h *hit) fullUpTo(count int) bool {
	h.window.mu.Lock()
	defer h.window.mu.Unlock()
	for n := range count {
		if !h.isFull(n) {
			return false
		}
	}
	return true
}

// known is what is known of a write shard's use.
func (h *hit) known(n int) (used int64, ok bool) {
	h.window.mu.Lock()
	defer h.window.mu.Unlock()
	used, ok = h.window.used[n]
	return used, ok
}

// try takes room of one write shard, and tells whether there was any.
func (h *hit) try(ctx context.Context, n int) (bool, error) {
	last := h.partsFull() // what is not there now will not come
	if used, known := h.known(n); n >= h.first && known && used >= 0 && !last {
		return h.takeOver(ctx, n)
	}
	in := dynamo.UpdateInput(h.update(n))
	in.ReturnValues, in.ReturnValuesOnConditionCheckFailure = types.ReturnValueUpdatedNew, types.ReturnValuesOnConditionCheckFailureAllOld
	out, err := h.client.UpdateItem(ctx, in, dynamo.NoRetry)
	if n >= h.first || h.newest <= h.first { // those that give room to others say nothing
		watching.Tell(ctx, h.watch, shardmap.Attempt{Key: h.base, Request: h.id, Entry: h.entry, Shard: n, At: h.now}, err, dynamo.KeyRange)
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
	donor, share := h.donor()
	if share <= 1 {
		h.last = donor
		return h.try(ctx, donor)
	}
	// Read before the transaction: after it, another hit of this process may have seen
	// the share in the item already, and it would be counted twice.
	given, _ := h.known(donor)
	taken, _ := h.known(n)
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

// exchange takes a share of the donor's room for write shard n, and the hit out of
// that. Both writes are one transaction, so that the sum of what is used is the number
// of hits at any time.
func (h *hit) exchange(n, donor int, share int64) []types.TransactWriteItem {
	give := h.add(donor, share)
	give.ConditionExpression = aws.String("attribute_not_exists(#used) OR #used <= :most")
	give.ExpressionAttributeValues[":most"] = dynamo.Number(h.part(donor) - share)
	give.ReturnValuesOnConditionCheckFailure = types.ReturnValuesOnConditionCheckFailureAllOld
	return []types.TransactWriteItem{{Update: give}, {Update: h.add(n, 1-share)}}
}

// donor returns a write shard with a part that is not known to be full, if there is
// one, and how much of its room, as far as known, another may take: so much that all
// can take some.
func (h *hit) donor() (n int, share int64) {
	h.window.mu.Lock()
	defer h.window.mu.Unlock()
	from := rand.IntN(h.first)
	for i := range h.first {
		if n = (from + i) % h.first; !h.isFull(n) {
			break
		}
	}
	return n, (h.part(n) - h.window.used[n]) / int64(h.all)
}

// update adds the hit to a write shard on condition that it has room.
func (h *hit) update(n int) *types.Update {
	u := h.add(n, 1)
	u.ConditionExpression = aws.String("#used < :part")
	if h.part(n) > 0 {
		u.ConditionExpression = aws.String("attribute_not_exists(#used) OR #used < :part")
	}
	u.ExpressionAttributeValues[":part"] = dynamo.Number(h.part(n))
	return u
}

func (h *hit) add(n int, used int64) *types.Update {
	return &types.Update{
		TableName: &h.table, Key: h.itemKey(n),
		UpdateExpression:         aws.String("SET expires_at = :expires ADD #used :used"),
		ExpressionAttributeNames: map[string]string{"#used": schema.LimitUsed},
		ExpressionAttributeValues: dynamo.Item{
			":used": dynamo.Number(used), ":expires": dynamo.Number(h.end().Add(schema.LimitLifetime).Unix()),
		},
	}
}

func (h *hit) end() time.Time { return h.start.Add(h.Window) }

func (h *hit) itemKey(n int) dynamo.Item {
	base := schema.BaseKey{Type: schema.Limit, Name: h.Key}
	return dynamo.Key(schema.Key{Base: base, Bucket: h.bucket, Shard: n}.String(), schema.SoleSK)
}
