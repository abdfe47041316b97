package limits

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/memo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
	"github.com/hotshard/hotshard/pkg/shard/internal/given"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client has the DynamoDB calls of a Limiter.
type Client interface {
	client.BatchGetter
	client.Putter
	client.Updater
	client.Transactor
}

// Bounds of a [Limit].
const (
	MaxHits   = 1_000_000_000
	MinWindow = time.Second
	MaxWindow = shardmap.LongestLife
)

// maxLimitWindows bounds the windows that a process caches.
const maxLimitWindows = 10_000

// Limit is a rate: at most Max hits of a key in each window.
type Limit struct {
	Key    string
	Max    int64         // hits in a window, 1 to MaxHits
	Window time.Duration // whole seconds, MinWindow to MaxWindow
}

// Verdict is the result of a call.
type Verdict struct {
	Allowed   bool
	Used      int64     // hits allowed in the window, including this call's; see [Limiter] for how exact
	Remaining int64     // Max less Used, 0 or more
	Resets    time.Time // the window's end
}

// Limiter counts hits against limits in fixed windows, over all processes.
//
// Windows are whole multiples of their length since the Unix epoch. Limits of one
// key with windows of different lengths are counted apart.
//
// # What it guarantees
//
// At most Max hits of a window are allowed, by any number of concurrent processes, whatever is
// throttled, lost or repeated, and however the shard count changes. A hit that is not allowed
// uses nothing. A hit is rejected only after Max hits have been used up, so if enough arrive,
// exactly Max are allowed. The exception is an ambiguous result of DynamoDB: the call's hits may be
// counted although its caller got an error, and then fewer hits are allowed. HitTransact with
// package once avoids that.
//
// The time of a call decides its window: a process whose clock is behind still counts into the
// previous window.
//
// Calls may have different Max in the same window. A new Max applies at once, and the highest Max
// of all calls bounds the use. With one write shard, a call is rejected once its own Max hits are
// used. With several, calls with a lower Max may be allowed after that, at most their own Max of
// them.
//
// Used is exact with one write shard. With several it is the last total that the process read,
// and the process's own hits since. For an allowed hit the total is at most 1 s old with up to
// 16 write shards, and N/16 s with more. Other processes' hits since then are missing. The total
// is at most the highest Max with which this process has hit the window.
//
// # Implementation
//
// Max is divided among the write shards that the key has at the window's begin, a count on which all
// processes agree. A hit is one update of a write shard, on condition that it has remaining quota.
// If it has none, the hit tries another. If the count has grown
// since the window's begin, a hit may go to a write shard without a share of Max. One
// transaction then transfers part of another write shard's quota to it. So growth relieves a
// hot key at once, in a window of any length, and the total stays the number of hits.
//
// # What it costs
//
// With one write shard a hit costs 1 WCU. So does a process's first rejected hit of a window;
// further ones cost nothing, since the process caches that the write shard is full. With
// several, each write shard that a hit finds full costs 1 WCU too, and after three of them the
// process reads all, at 1 RCU each. To know Used, a process with allowed hits reads them all at
// 0.5 RCU each, at most 8 RCU/s. A transfer of quota costs 4 WCU, and 1 WCU for the failed
// attempt before. HitTransact reads all write shards each time, at 1 RCU each.
//
// # Heat
//
// A [shard.Observer] receives each attempt. A transfer of quota is always [shard.Inconclusive],
// since more write shards would only cause more transfers. A throttled hit tries another write shard
// of the newest count.
type Limiter struct {
	client   Client
	table    string
	shards   *shardmap.Map
	observer shard.Observer
	windows  memo.Memo[*limitWindow]
}

// Options are a Limiter's settings. The zero value is ready to use.
type Options struct {
	Observer shard.Observer // receives every write attempt; may be nil
}

// New returns a Limiter over the items table.
func New(db Client, table string, shards *shardmap.Map, o Options) *Limiter {
	return &Limiter{
		client: db, table: table, shards: shards, observer: o.Observer,
		windows: memo.New[*limitWindow](maxLimitWindows),
	}
}

// Key returns the key in the shard map of a limit's key.
func Key(key string) string { return schema.BaseKey{Type: kind.Limit, Name: key}.String() }

// check returns an error if the limit is out of bounds.
func (l Limit) check() error {
	switch {
	case l.Key == "":
		return fmt.Errorf("a limit's key is empty")
	case l.Max < 1 || l.Max > MaxHits:
		return fmt.Errorf("limit %d of %q: want 1 to %d", l.Max, l.Key, MaxHits)
	case l.Window < MinWindow || l.Window > MaxWindow || l.Window%time.Second != 0:
		return fmt.Errorf("window %v of %q: want whole seconds, %v to %v", l.Window, l.Key, MinWindow, MaxWindow)
	}
	return nil
}

// Start returns the start of the limit's window that contains now.
func (l *Limiter) Start(limit Limit, now time.Time) time.Time {
	since := now.Unix()
	return time.Unix(since-since%int64(limit.Window/time.Second), 0).UTC()
}

// Hit counts one hit if the limit allows it. It returns the verdict once the hit is durable, or
// an error that wraps ErrThrottled, ErrUnavailable or ErrStale; ErrMisused for a limit out of
// bounds. Only after ErrUnavailable may the hit have been counted.
func (l *Limiter) Hit(ctx context.Context, limit Limit, now time.Time) (Verdict, error) {
	return l.count(ctx, limit, 1, now)
}

// HitN counts n hits if the limit allows all of them, and none if it does not. A rejected call may
// leave Remaining above 0, but below n. The errors are those of Hit, and ErrMisused if n is not 1 to
// the limit's Max. Only after ErrUnavailable may the n hits have been counted.
//
// HitN costs what Hit costs if one write shard has quota for all n hits. Otherwise a transaction takes
// quota from several, at 2 WCU each. If they have less quota than this process had cached, HitN reads
// all write shards, at 1 RCU each. A transaction takes from at most 99 write shards. With more than
// that, HitN may reject n hits although n single hits would be allowed.
func (l *Limiter) HitN(ctx context.Context, limit Limit, n int64, now time.Time) (Verdict, error) {
	return l.count(ctx, limit, n, now)
}

// count counts n hits, or none.
func (l *Limiter) count(ctx context.Context, limit Limit, n int64, now time.Time) (Verdict, error) {
	h, err := l.newHit(ctx, limit, n, now)
	if err == nil && !h.full() {
		attempt := h.countHit
		if n > 1 {
			attempt = h.countAll
		}
		err = dynamo.PersistSum(ctx, attempt)
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("hit of limit %q: %w", limit.Key, err)
	}
	if h.allowed {
		h.window.own.Add(n)
	}
	h.refresh(ctx)
	return h.verdict(), nil
}

// newHit checks a call of n hits, and returns its state with the key's entry in the shard map.
func (l *Limiter) newHit(ctx context.Context, limit Limit, n int64, now time.Time) (*hit, error) {
	if err := cmp.Or(dynamo.CheckNow(now), given.Check(l.client, l.shards)); err != nil {
		return nil, err
	}
	err := limit.check()
	if err == nil && (n < 1 || n > limit.Max) {
		err = fmt.Errorf("%d hits at once of limit %q: want 1 to its %d", n, limit.Key, limit.Max)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrMisused, err)
	}
	base := schema.BaseKey{Type: kind.Limit, Name: limit.Key}
	entry, err := l.shards.Lookup(ctx, Key(limit.Key), now)
	if err != nil {
		return nil, err
	}
	start := l.Start(limit, now)
	h := &hit{
		Limiter: l, base: Key(limit.Key), hits: n, call: observe.Begin(l.observer), now: now, last: -1,
		division: division{Limit: limit, items: l.table, bucket: schema.LimitBucket(start, limit.Window), start: start},
	}
	h.useEntry(entry)
	name := schema.Key{Base: base, Bucket: h.bucket}.String()
	h.window = l.windows.GetOr(name, newLimitWindow)
	return h, nil
}
