package limits

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/client"
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

// Bounds of a [Limit] and of a call.
const (
	MaxHits   = 1_000_000_000
	MinWindow = time.Second
	MaxWindow = 720 * time.Hour
	MaxLimits = 10 // of a call
)

// Month is the window of a calendar month, in UTC.
const Month time.Duration = -1

// maxLimitWindows bounds the windows that a process caches.
const maxLimitWindows = 10_000

// Limit is a rate: at most Max hits of a key in each window.
type Limit struct {
	Key    string
	Max    int64         // hits in a window, 1 to MaxHits
	Window time.Duration // whole seconds, MinWindow to MaxWindow, or Month

	// Sliding also counts the previous window's hits, weighted by the part of the window that is left: 75 % of them
	// after a quarter of the window. All calls of a key and window should have the same Sliding, since the hits of a
	// sliding limit are kept for one window more.
	Sliding bool
}

// Hits is a number of hits of a limit.
type Hits struct {
	Limit
	N int64 // not 0; a negative number gives hits back
}

// Verdict is the result of a call for one limit.
type Verdict struct {
	Allowed   bool      // the limit allows the hits; they are counted if all limits of the call do
	Used      int64     // allowed hits in the window, including this call's; see [Limiter] for how exact
	Remaining int64     // Max less Used, 0 or more
	Resets    time.Time // the window's end
	// Retry is, for hits that are not allowed, when they would fit if no others were counted until then. More than Max
	// never fit, even then. For allowed hits Retry is zero.
	Retry time.Time
}

// Limiter counts hits against limits in fixed or sliding windows, over all processes.
//
// Windows are whole multiples of their length since the Unix epoch, or calendar months. Limits of one
// key with windows of different lengths are counted apart.
//
// # What it guarantees
//
// Any number of concurrent processes, whose clocks differ by at most [shardmap.Clocks], together allow at most Max hits
// of a window. That holds whatever is throttled, lost or repeated, and however the shard count changes. A call that is
// not allowed uses nothing, of any of its limits. A hit is rejected only after Max hits have been used up, so if enough
// arrive, exactly Max are allowed. The exception is an ambiguous result of DynamoDB: the call's hits may be counted
// although its caller got an error, and then fewer hits are allowed. HitTransact with package once avoids that.
//
// The time of a call decides its window: a process whose clock is behind still counts into the previous window.
//
// Hits that are given back can be used again. If a call gives back more hits than were used, the rest is ignored. A
// process caches that a limit is used up. So it may reject hits for 1 s after another process gave hits back, or N/16 s
// with more than 16 write shards. After ErrUnavailable the hits may have been given back. A caller who retries may give
// them back twice, and so allow more hits than the limit. HitTransact avoids that.
//
// A sliding limit allows at most Max hits in each of its windows, but more in some intervals of the same
// length: docs/decisions/limits.md. The previous window's hits are read until 5 s after its end; a hit that a
// slow clock adds later does not count in the next window.
//
// Calls may have different Max in the same window. A new Max applies at once, and the highest Max
// of all calls bounds the use. With one write shard, a call is rejected once its own Max hits are
// used. With several, a call with a lower Max may be allowed after that, until the process knows other processes' hits.
//
// Used is exact for a call of one limit with one write shard. Otherwise it is the last total that the process read, and
// the process's own hits since. For an allowed hit the total is at most 1 s old with up to 16 write shards, and N/16 s
// with more. Other processes' hits since then are missing. The total is at most the highest Max with which this process
// has hit the window. For a sliding limit, Used includes the weighted hits of the previous window.
//
// # What it costs
//
// Each write shard has a share of Max, or gets quota from another by a transaction: docs/decisions/limits.md.
//
// With one write shard a hit costs 1 WCU. So does a process's first rejected hit of a window;
// further rejected hits cost a read of the write shard in each second.
//
// With several write shards, each that a hit finds full costs 1 WCU too. After three of them the process reads all
// write shards, at 1 RCU each. To know Used, a process with allowed hits reads all at 0.5 RCU each, at most 8 RCU/s. A
// transfer of quota costs 4 WCU, and 1 WCU for the failed attempt before. Giving hits back costs what hits cost.
//
// Several hits of a limit cost what one costs if one write shard has quota for all of them. Otherwise a transaction
// takes quota from several write shards, at 2 WCU each. A call of several limits costs 2 WCU for each write shard, even
// if a limit rejects it, unless the rejection is cached. HitTransact costs the same, and reads all write shards each
// time, at 1 RCU each. In a window of a sliding limit, a process also reads each write shard of the previous window:
// once a second in the first 5 s, and once more.
//
// A transaction has at most 99 write shards, divided by the number of limits. If several hits need the quota of more
// write shards, they may be rejected although as many single hits would be allowed. Hits that are given back may be
// rejected likewise.
type Limiter struct {
	client   Client
	table    string
	shards   *shardmap.Map
	observer shard.Observer
	windows  dynamo.Cache[*limitWindow]
	probes   *observe.Probes
}

// Options are a Limiter's settings. The zero value is ready to use.
type Options struct {
	Observer shard.Observer // receives every write attempt, a transfer of quota as Inconclusive; may be nil
}

// New returns a Limiter over the items table.
func New(db Client, table string, shards *shardmap.Map, o Options) *Limiter {
	return &Limiter{
		client: db, table: table, shards: shards, observer: o.Observer,
		windows: dynamo.NewCache[*limitWindow](maxLimitWindows), probes: observe.NewProbes(db, o.Observer),
	}
}

// Key returns the key in the shard map of a limit's key.
func Key(key string) string { return schema.BaseKey{Type: schema.Limit, Name: key}.String() }

// check returns an error if the limit or the number of hits is out of bounds. The error has no kind yet.
func (h Hits) check() error {
	switch {
	case h.Key == "" || !utf8.ValidString(h.Key):
		return fmt.Errorf("the key of a limit is %q: pass at least one character, and UTF-8", h.Key)
	case h.Max < 1 || h.Max > MaxHits:
		return fmt.Errorf("limit %q has a Max of %d: want 1 to %d", h.Key, h.Max, MaxHits)
	case h.Window != Month && (h.Window < MinWindow || h.Window > MaxWindow || h.Window%time.Second != 0):
		return fmt.Errorf("limit %q has a window of %v: want whole seconds, %v to %v, or a month", h.Key, h.Window, MinWindow, MaxWindow)
	case h.N == 0:
		return fmt.Errorf("the call has 0 hits of limit %q: want 1 or more, or a negative number to give hits back", h.Key)
	}
	return nil
}

// Start returns the start of the window that contains now.
func (l Limit) Start(now time.Time) time.Time {
	now = now.UTC()
	if l.Window == Month {
		return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	seconds := now.Unix()
	return time.Unix(seconds-seconds%int64(l.Window/time.Second), 0).UTC()
}

// nextStart returns the start of the window that follows the window with this start.
func (l Limit) nextStart(start time.Time) time.Time {
	if l.Window == Month {
		return start.AddDate(0, 1, 0)
	}
	return start.Add(l.Window)
}

// Hit counts one hit if the limit allows it. It returns the verdict once the hit is durable, or an error that wraps
// ErrThrottled, ErrUnavailable or ErrStale, or ErrMisused for a limit out of bounds. Only after ErrUnavailable may the
// hit have been counted.
func (l *Limiter) Hit(ctx context.Context, limit Limit, now time.Time) (Verdict, error) {
	return l.HitN(ctx, limit, 1, now)
}

// HitN counts n hits if the limit allows all of them, and none if it does not. A negative n gives hits back. The
// verdict of rejected hits may have a Remaining above 0, but below n if no hits are given back meanwhile. The errors
// are those of Hit, and ErrMisused if n is 0. Only after ErrUnavailable may the n hits have been counted.
func (l *Limiter) HitN(ctx context.Context, limit Limit, n int64, now time.Time) (Verdict, error) {
	list, err := l.HitAll(ctx, []Hits{{limit, n}}, now)
	if err != nil {
		return Verdict{}, err
	}
	return list[0], nil
}
