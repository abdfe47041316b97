package limits

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// hit is the state of one limit in a call.
type hit struct {
	*Limiter
	division
	fullMax      int64  // the limit's Max; the division's Max is lower by weight
	previousHits int64  // of a sliding limit, the hits of the previous window
	weight       int64  // of a sliding limit, how many of previousHits count now
	n            int64  // the hits of the call; a negative number is given back
	base         string // the base key in the shard map
	entry        shardmap.Entry
	now          time.Time
	window       *limitWindow
	budget       int // the number of changes that a transaction has for this limit

	changes []change
	fits    bool // the limit does not reject the hits
	planned bool // the verdict includes the changes, which are not made yet
	last    int  // the write shard that was chosen last, -1 before the first choice
	misses  int  // attempts since the last read that found no remaining quota
	exact   *use // the use after the write, if the call made a single write; nil otherwise
}

// farAhead is later than any change.
var farAhead = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// maxMisses is how many full write shards a hit finds before it reads them all.
const maxMisses = 3

// newHit returns the state of hits, with the key's entry in the shard map. A number of hits above MaxHits becomes
// MaxHits+1, which no limit allows.
func (l *Limiter) newHit(ctx context.Context, hits Hits, now time.Time) (*hit, error) {
	base := schema.BaseKey{Type: schema.Limit, Name: hits.Key}
	entry, err := l.shards.Lookup(ctx, Key(hits.Key), now)
	if err != nil {
		return nil, err
	}
	start := hits.Start(now)
	h := &hit{
		Limiter: l, base: Key(hits.Key), fullMax: hits.Max, n: min(max(hits.N, -MaxHits), MaxHits+1), now: now, last: -1,
		division: division{Limit: hits.Limit, items: l.table, start: start},
	}
	h.useEntry(entry)
	name := schema.Key{Base: base, Bucket: h.bucket()}.String()
	h.window = l.windows.GetOr(name, newLimitWindow)
	return h, nil
}

// useEntry sets the hit's entry of the shard map, and the division's numbers of write shards that follow from the entry.
func (h *hit) useEntry(entry shardmap.Entry) {
	h.entry = entry
	h.withShare, h.newest = entry.History.At(h.start), entry.History.Newest()
	h.allShards = max(h.withShare, entry.Shards(h.start, farAhead))
}

// lookUp sets the hit's entry to the newest entry of the shard map's view. If the look-up fails, the entry stays.
func (h *hit) lookUp(ctx context.Context) {
	if entry, err := h.shards.Lookup(ctx, h.base, h.now); err == nil {
		h.useEntry(entry)
	}
}

// change adds to the use of write shard n. A negative used without hits transfers quota to the write shard.
type change struct {
	n          int
	used, hits int64
}

// counted returns the number of hits that the changes count; below 0 if they give hits back.
func (h *hit) counted() (n int64) {
	for _, c := range h.changes {
		n += c.hits
	}
	return n
}

// observedWrite returns the write of a change with its attempt and probe.
func (h *hit) observedWrite(c change) shardmap.Write {
	u := h.update(c)
	return shardmap.Write{
		Action:   types.TransactWriteItem{Update: u},
		Attempt:  observe.NewAttempt(schema.Limit, h.base, h.entry, c.n, h.now),
		Probe:    observe.TableProbe(u.Key),
		Transfer: len(h.changes) > 1,
	}
}

// plan sets changes and fits. Before it rejects hits, it reads the write shards, since other processes may have given hits
// back. It does not read them if the cache proves that the hits don't fit, and the last read is younger than readAge.
func (h *hit) plan(ctx context.Context) error {
	if err := h.lowerMax(ctx); err != nil {
		return err
	}
	allowedMisses := maxMisses
	if h.n != 1 { // the quota of each write shard matters
		allowedMisses = 1
	}
	if h.allShards == 1 || h.misses < allowedMisses {
		provesRejection := h.planFromCache(false)
		if h.fits {
			return nil
		}
		if provesRejection && !h.window.claimRead(h.now, h.readAge()) {
			return nil
		}
	}
	if err := h.readAll(ctx, true); err != nil {
		return err
	}
	h.planFromCache(true)
	return nil
}

// planFromCache sets changes and fits by the cached use. If the hits don't fit, provesRejection reports whether
// only hits that other processes gave back could change that. isFresh means that all write shards have just been read.
func (h *hit) planFromCache(isFresh bool) (provesRejection bool) {
	if h.n < 0 {
		h.planGiveBack(isFresh)
		return false
	}
	h.changes = nil
	exceeds := h.exceedsMax()
	if n, ok := h.window.chooseShard(&h.division, h.last); ok && !exceeds {
		h.last, h.changes = n, h.changesFor(n)
	}
	h.fits = h.changes != nil
	return exceeds || h.allShards == h.withShare || h.full()
}

// exceedsMax reports whether the cached hits leave too few for the call. Quota may remain nevertheless: calls with a
// higher Max may have transferred it, or the cache lacks a transfer's donor.
func (h *hit) exceedsMax() bool { return h.cachedHits()+h.n > h.Max }

// cachedHits returns the number of cached hits on all write shards.
func (h *hit) cachedHits() (sum int64) {
	for _, hits := range h.window.hits(h.allShards) {
		sum += hits
	}
	return sum
}

// planGiveBack sets the changes that give hits back, by the cached use. Hits that were never counted are not given back.
func (h *hit) planGiveBack(isFresh bool) {
	changes, rest := divideHits(-h.n, h.window.hits(h.allShards), h.budget)
	for i := range changes {
		changes[i].used, changes[i].hits = -changes[i].used, -changes[i].hits
	}
	givesAllBack := isFresh && len(changes) < h.budget // no other hits were counted
	h.changes, h.fits = changes, rest == 0 || givesAllBack
}

// changesFor returns the changes that count the hits, by the cached use of the write shards, or nil if one transaction
// can't take enough quota. Write shard n counts the hits if it has quota, or gets quota by a transfer. A single hit
// also tries write shard n if other processes may have transferred quota to it. Otherwise as few write shards as
// possible count the hits together.
func (h *hit) changesFor(n int) []change {
	left := h.window.remaining(&h.division)
	_, known := h.window.knownUse(n)
	isUncertain := !known || h.sharesFull()
	mayHaveReceived := !h.hasShare(n) && isUncertain
	if left[n] >= h.n || h.n == 1 && mayHaveReceived {
		return []change{{n, h.n, h.n}}
	}
	if !h.hasShare(n) {
		donor := byQuota(left[:h.withShare])[0]
		if moved := left[donor] / int64(h.allShards); moved > h.n {
			return []change{{donor, moved, 0}, {n, h.n - moved, h.n}} // transfers quota, and counts the hits
		}
	}
	if changes, rest := divideHits(h.n, left, h.budget); rest == 0 {
		return changes
	}
	return nil
}

// byQuota returns the write shards in descending order of quota; write shards with equal quotas are in random order.
func byQuota(quotas []int64) []int {
	order := rand.Perm(len(quotas))
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(quotas[b], quotas[a]) })
	return order
}

// divideHits divides hits among write shards with these quotas. It returns a change for each of at most budget write
// shards, and the number of hits that are left over.
func divideHits(hits int64, quotas []int64, budget int) (changes []change, rest int64) {
	for _, n := range byQuota(quotas) {
		quota := min(quotas[n], hits)
		if quota <= 0 || len(changes) == budget {
			break
		}
		changes = append(changes, change{n, quota, quota})
		hits -= quota
	}
	return changes, hits
}

// sharesFull reports whether all write shards with a share are known to be full. Then no more quota is transferred.
func (h *hit) sharesFull() bool { return h.window.full(&h.division, h.withShare) }

// full reports whether all write shards are known to be full. Then a hit exceeds the limit.
func (h *hit) full() bool { return h.window.full(&h.division, h.allShards) }

// cacheItem adds a write shard's item to the window's cache, and returns the item's use. The use of a nil item is 0.
func (h *hit) cacheItem(n int, it dynamo.Item) (*use, error) {
	used, err := dynamo.Integer(it, schema.LimitUsed)
	hits, err2 := dynamo.Integer(it, schema.LimitHits)
	if err = cmp.Or(err, err2); err != nil {
		return nil, fmt.Errorf("the item of limit %q on write shard %d: %w", h.Key, n, err)
	}
	h.window.cacheUse(n, use{used, hits})
	return &use{used, hits}, nil
}

// cacheMiss caches the item of a write shard that lacked quota. If it has none and can get no more, it is spent.
func (h *hit) cacheMiss(n int, it dynamo.Item, noMoreQuota bool) error {
	h.misses++
	current, err := h.cacheItem(n, it)
	if err == nil && noMoreQuota && current.used >= 0 {
		h.window.setSpent(n, h.Max)
	}
	if err == nil && h.allShards == 1 {
		h.window.setTotal(1, h.window.ownHits(), h.now)
	}
	return err
}
