package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Control says how far the controller of shard counts may go.
type Control string

// The controls.
const (
	Act     Control = "act"     // change shard counts
	Observe Control = "observe" // decide and log, change nothing
	Off     Control = "off"     // decide nothing
)

// growth is the [ddb.Watcher] that raises the shard count of a key as soon as a
// partition's limit refuses its writes, from the rate at which writes are offered
// then, and that tells the detector what the stream does not show.
type growth struct {
	meter     *meter
	sightings sightings
	changer   *ddb.MapChanger
	control   Control
	limit     float64       // write units a second that a partition takes
	fresh     time.Duration // evidence that is older is no evidence
	now       func() time.Time
	names     heat.Naming
	log       *slog.Logger

	mu   sync.Mutex
	keys map[string]*trouble
}

// trouble is what a key with throttles went through lately.
type trouble struct {
	begin     time.Time   // of the refusals that go on
	last      time.Time   // the last of them
	throttled map[int]int // attempts by write shard, since the last sighting
	refused   int         // units of failed conditions since then, a second at most
	since     time.Time
	told      time.Time // the last sighting
	decided   time.Time // the last decision
	ripe      bool      // the rate has been told since it is known
	busy      bool      // someone tells or decides
}

// Bounds of a growth's memory, and of its work for one key.
const (
	maxTroubled = 10_000
	tellEvery   = time.Second
	maxWait     = 2500 * time.Millisecond // for the rates of other processes
	calm        = 5 * time.Second         // after so long without a refusal, a new storm begins
	decideEvery = 200 * time.Millisecond
)

// Offered counts a write towards its key's rate, unless its time is past: more
// write shards help only what is written from now on.
func (g *growth) Offered(key string, units int, at time.Time) {
	if now := g.now(); now.Sub(at) < g.fresh {
		g.meter.add(key, units, now)
	}
}

// Refused notes the price of a failed condition.
func (g *growth) Refused(key string, units int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t, now := g.trouble(key), g.now()
	if t == nil {
		return
	}
	if now.Sub(t.since) > tellEvery {
		t.refused, t.since = 0, now // a rate is told, not all there ever was
	}
	t.refused += units
}

// Throttled notes the throttle, tells the detector once a second, and has the key
// grow once its rate is known.
func (g *growth) Throttled(ctx context.Context, key string, writeShard int, at time.Time) {
	now := g.now()
	t, spread := g.note(key, writeShard, now)
	if t == nil {
		return
	}
	defer g.release(t)
	if now.Sub(t.told) >= tellEvery {
		g.tell(ctx, key, t, now)
	}
	if g.control == Off || now.Sub(t.decided) < decideEvery || now.Sub(at) >= g.fresh {
		return
	}
	own, ripe := g.rate(key, t, now)
	if !ripe {
		return // too early to tell how many write shards it needs
	}
	t.decided = now
	if !t.ripe {
		t.ripe = true
		g.tell(ctx, key, t, now) // others sum up what is known here
	}
	g.decide(ctx, key, t, spread, own, at, now)
}

// rate is the meter's. It is ripe when the key has been refused writes for a second:
// one that was busy before is metered all along, but its last second says little of
// a storm that has just begun.
func (g *growth) rate(key string, t *trouble, now time.Time) (perSecond float64, ripe bool) {
	perSecond, ripe = g.meter.rate(key, now)
	return perSecond, ripe && now.Sub(t.begin) >= time.Second
}

// note counts a throttle and takes the key's trouble, which it returns unless
// someone else has it. Spread is on how many write shards there were throttles
// since the last sighting.
func (g *growth) note(key string, writeShard int, now time.Time) (t *trouble, spread int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t = g.trouble(key); t == nil {
		return nil, 0
	}
	t.throttled[writeShard]++
	if t.busy {
		return nil, 0
	}
	if now.Sub(t.last) > calm {
		t.begin = now
	}
	t.busy, t.last = true, now
	return t, len(t.throttled)
}

// trouble returns a key's, or nil when there is no room. The caller holds mu.
func (g *growth) trouble(key string) *trouble {
	t := g.keys[key]
	if t != nil {
		return t
	}
	if len(g.keys) >= maxTroubled {
		now := g.now()
		for k, old := range g.keys {
			if !old.busy && now.Sub(old.told) > time.Minute {
				delete(g.keys, k)
			}
		}
		if len(g.keys) >= maxTroubled {
			return nil
		}
	}
	t = &trouble{throttled: map[int]int{}}
	g.keys[key] = t
	return t
}

func (g *growth) release(t *trouble) {
	g.mu.Lock()
	defer g.mu.Unlock()
	t.busy = false
}

// tell puts a sighting. One that can't be written is made up for by the next.
func (g *growth) tell(ctx context.Context, key string, t *trouble, now time.Time) {
	rate, ripe := g.rate(key, t, now)
	g.mu.Lock()
	t.ripe = ripe
	s := sighting{throttled: t.throttled, refused: t.refused}
	s.ripe = ripe
	s.offered = max(rate, 1) // the refused write itself, if it is the first
	t.throttled, t.refused, t.told = map[int]int{}, 0, now
	g.mu.Unlock()
	if err := g.sightings.put(ctx, key, s, now); err != nil {
		g.log.Warn("sighting not written", "key", g.names.Shown(key), "error", err)
	}
}

// decide has the key grow if the evidence asks for it. Own is the rate that this
// process is offered.
func (g *growth) decide(ctx context.Context, key string, t *trouble, spread int, own float64, at, now time.Time) {
	entry, err := g.changer.Lookup(ctx, key, now)
	if err != nil || entry.Pinned || at.Before(entry.Effective()) || now.Before(entry.Effective()) {
		return // unknown, a person's, or answered already
	}
	others, waiting, err := g.sightings.rateOfOthers(ctx, key, now)
	if err != nil {
		g.log.Warn("sightings not read", "key", g.names.Shown(key), "error", err)
		return // a first answer without the others would be too small
	}
	if waiting && now.Sub(t.begin) < maxWait {
		return // others will know their rates in a moment
	}
	count, why := sized(key, entry.History.Newest(), spread, own+others, g.limit)
	if count == 0 {
		g.log.Warn("no growth", "key", g.names.Shown(key), "why", why)
		return
	}
	g.grow(ctx, key, count, why)
}

// sized returns the count that a throttled key of count write shards should grow
// to, and why; 0 if more write shards would not help.
func sized(key string, count, spread int, rate, limit float64) (to int, why string) {
	base, err := schema.ParseBaseKey(key)
	if err != nil {
		return 0, err.Error()
	}
	needed := shard.Needed(rate, limit, heat.Share(base.Type))
	if needed == 1 && count == 1 {
		return 0, fmt.Sprintf("throttled at %.1f write units a second, of the %.0f that a partition takes: other keys fill it", rate, limit)
	}
	if needed <= count && 2*spread < count {
		return 0, fmt.Sprintf("%d of %d write shards throttled at %.0f write units a second in all: skew, which more write shards don't cure", spread, count, rate)
	}
	return shard.Grown(count, needed), fmt.Sprintf("throttled on %d of %d write shards at %.0f write units a second offered", spread, count, rate)
}

func (g *growth) grow(ctx context.Context, key string, count int, why string) {
	if g.control != Act {
		g.log.Warn("would grow", "key", g.names.Shown(key), "shards", count, "why", why)
		return
	}
	entry, err := g.changer.Grow(ctx, key, count, ddb.Note{By: "ingest", Why: why}, g.now())
	switch {
	case err == nil:
		g.log.Warn("grown", "key", g.names.Shown(key), "shards", count, "effective_at", entry.Effective(), "why", why)
	case errors.Is(err, ddb.ErrNoChange), errors.Is(err, ddb.ErrPinned):
	default:
		g.log.Error("not grown", "key", g.names.Shown(key), "shards", count, "error", err)
	}
}
