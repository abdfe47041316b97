package limits

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/memo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/internal/watching"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Client is what a Limiter calls of DynamoDB.
type Client interface {
	dynamo.BatchGetter
	dynamo.Putter
	dynamo.Updater
	dynamo.Transactor
}

// Bounds of a limit.
const (
	MaxHits   = 1_000_000_000
	MinWindow = time.Second
	MaxWindow = shardmap.LongestLife
)

// maxLimitWindows bounds the windows that a process remembers.
const maxLimitWindows = 10_000

// Limit is a rate: so many hits of a key in each window.
type Limit struct {
	Key    string
	Max    int64         // hits in a window, 1 to MaxHits
	Window time.Duration // whole seconds, MinWindow to MaxWindow
}

// Verdict says what became of a hit.
type Verdict struct {
	Allowed   bool
	Used      int64     // hits allowed in the window, this one included: see [Limiter]
	Remaining int64     // what is left, 0 or more
	Resets    time.Time // the window's end
}

// Limiter counts hits against limits in fixed windows, over all processes.
//
// Windows are whole multiples of their length since the Unix epoch. Limits of one
// key with windows of different lengths are counted apart.
//
// # What it guarantees
//
// Never are more than Max hits of a window allowed, by however many processes at a
// time, whatever is throttled, lost or repeated, and however the shard count
// changes. A hit that is not allowed uses nothing. A hit is refused only when Max
// hits have been used up; so exactly Max are allowed when enough come. An answer of
// DynamoDB's that is lost may use up one more, which nobody was told of: then fewer
// are allowed. Package once, with HitTransact, is for callers who can't have that.
//
// Windows are those of the process's own clock: one that is behind still counts
// into the window before.
//
// A call with another Max in the same window goes by its own Max, at once: no more
// than the highest Max of all calls are used up. A call with a lower Max than others
// is refused, with one write shard, if so many are used; with several it may be
// allowed after that, up to its own Max in all.
//
// Used is exact with one write shard. With several it is what the process last read of all, and
// its own hits since: a reading is at most a second old for an allowed hit with up to 16 write
// shards, N/16 s with more. It may be off by what others did meanwhile.
//
// # How
//
// A window is spread over the write shards that the key has when it begins, on whose
// number all processes agree, and Max is divided among them. A hit is one update of
// one of them, on condition that this has room; if it has not, of another. Where the
// count has grown since the window's begin, the hit may go to a write shard that has
// no part of Max: that takes over a part of another's room, in one transaction that
// adds to the one what it takes from the other. So a hot key is relieved at once, in
// a window of any length, and the sum over write shards stays the number of hits.
//
// # What it costs
//
// With one write shard a hit is a write unit. So is the first refusal in a process
// that has not seen the write shard full; further ones in the window cost nothing,
// since the process remembers. With several, a hit that finds a write shard full has
// cost a unit too, and after three of them the process reads all, a read unit each. To
// know Used, a process with allowed hits reads them at half a unit each, but spends 8 units
// a second at most. A part that is taken over costs 4 units, and one for finding out. A hit of HitTransact reads all
// write shards each time, a read unit each.
//
// # Heat
//
// The [shardmap.Watcher] is told what becomes of each attempt, but not of transactions that meet
// while room is taken over: more write shards would only make more of them. A hit that a
// partition refuses goes on to another write shard, of the newest count.
type Limiter struct {
	client  Client
	table   string
	shards  *shardmap.Map
	told    *watching.Transactions
	stagger bool
	windows memo.Memo[*limitWindow]
}

// Options are how a Limiter works. The zero value is good. All processes that
// share limits must have the same.
type Options struct {
	// Stagger makes the windows of each key begin at a second of its own, so that
	// not all callers who were refused come back at the same time.
	Stagger bool
	Watch   shardmap.Watcher // is told how the keys fare; nil for nobody
}

// New returns a Limiter over the items table.
func New(client Client, table string, shards *shardmap.Map, o Options) *Limiter {
	return &Limiter{
		client: client, table: table, shards: shards, stagger: o.Stagger,
		told:    watching.New(client, table, shards, o.Watch),
		windows: memo.New[*limitWindow](maxLimitWindows),
	}
}

// Key is the key in the shard map of a limit's key.
func Key(key string) string { return schema.BaseKey{Type: schema.Limit, Name: key}.String() }

// check reports a limit that can't be had.
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

// Start returns the begin of the limit's window that holds now.
func (l *Limiter) Start(limit Limit, now time.Time) time.Time {
	window, offset := int64(limit.Window/time.Second), int64(0)
	if l.stagger {
		digest := sha256.Sum256([]byte(limit.Key + "#" + strconv.FormatInt(window, 10)))
		offset = int64(binary.BigEndian.Uint64(digest[:8]) % uint64(window))
	}
	since := now.Unix() - offset
	return time.Unix(since-since%window+offset, 0).UTC()
}

// Hit counts one hit, if the limit allows it. It returns the verdict once that is
// durable, or an error of kind ErrThrottled, ErrUnavailable or ErrStale, after which
// the hit may have been counted only with ErrUnavailable; ErrMisused for a limit out of bounds.
func (l *Limiter) Hit(ctx context.Context, limit Limit, now time.Time) (Verdict, error) {
	h, err := l.hit(ctx, limit, now)
	if err == nil && !h.full() {
		l.told.Watch.Requested(shardmap.Request{Key: h.base, ID: h.id, At: now})
		err = dynamo.PersistSum(ctx, h.take)
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("hit of limit %q: %w", limit.Key, err)
	}
	if h.allowed {
		h.window.own.Add(1)
	}
	h.refresh(ctx)
	return h.verdict(), nil
}

// hit looks up what a hit goes by.
func (l *Limiter) hit(ctx context.Context, limit Limit, now time.Time) (*hit, error) {
	if err := limit.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", shard.ErrMisused, err)
	}
	base := schema.BaseKey{Type: schema.Limit, Name: limit.Key}
	entry, err := l.shards.Lookup(ctx, Key(limit.Key), now)
	if err != nil {
		return nil, err
	}
	start := l.Start(limit, now)
	h := &hit{
		Limiter: l, base: Key(limit.Key), id: rand.Uint64(), now: now, last: -1,
		division: division{Limit: limit, items: l.table, bucket: schema.LimitBucket(start, limit.Window), start: start},
	}
	h.by(entry)
	name := schema.Key{Base: base, Bucket: h.bucket}.String()
	h.window = l.windows.GetOr(name, newLimitWindow)
	return h, nil
}
