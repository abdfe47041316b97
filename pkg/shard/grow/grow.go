package grow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Changer changes shard counts; *shardmap.Changer implements it.
type Changer interface {
	Current(ctx context.Context, key string) (shardmap.Entry, error)
	GrowFrom(ctx context.Context, seen shardmap.Entry, count int, note shardmap.Note, now time.Time) (shardmap.Entry, error)
	Partitions(table string) int
}

// Options are a Grower's settings. The zero value is ready to use.
type Options struct {
	Observe bool // only log each growth that is due
	// Max is the maximum of write shards of a key; 0 is [shard.MaxShards]. Every read of a key costs as
	// much as the most write shards that the key ever had.
	Max int
	// Partitions returns how many partitions a table has: a key gets at most four write shards for each.
	// If nil, the number is the shard map's, which [shardmap.Changer.NotePartitions] sets, or else
	// [shardmap.FewPartitions], the number of a new on-demand table.
	Partitions func(table string) int
	Logger     *slog.Logger            // nil is slog.Default
	By         string                  // who made a change, in the shard map's notes; default "grow"
	Shown      func(key string) string // the name of a key in log lines; nil shows the key itself
	Clock      func() time.Time        // nil is time.Now
}

// Grower is a [shard.Observer] that raises the shard count of a key soon after half of the key's writes
// were throttled by their partition. It is safe for concurrent use.
type Grower struct {
	keys    *growth.Keys
	changer Changer
	o       Options
	wait    func(context.Context) bool // waits a random time up to growth.MaxWait; false if the context has ended
}

// New returns a Grower. The changer's map must be the one that the writers use. New returns ErrMisused
// if the changer is nil, or Max is not 0 to [shard.MaxShards].
func New(changer Changer, o Options) (*Grower, error) {
	if c, ok := changer.(*shardmap.Changer); changer == nil || ok && c == nil {
		return nil, fmt.Errorf("%w: grow.New: the changer is nil: pass a shardmap.Changer", shard.ErrMisused)
	}
	if o.Max < 0 || o.Max > shard.MaxShards {
		return nil, fmt.Errorf("%w: grow.New: Options.Max is %d: want 0 to %d", shard.ErrMisused, o.Max, shard.MaxShards)
	}
	o.Max, o.By = cmp.Or(o.Max, shard.MaxShards), cmp.Or(o.By, "grow")
	if o.Partitions == nil {
		o.Partitions = changer.Partitions
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Shown == nil {
		o.Shown = func(key string) string { return key }
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Grower{keys: growth.NewKeys(growth.MaxKeys), changer: changer, o: o, wait: waitRandomly}, nil
}

// Time limits of reads for which the throttled write waits.
const (
	clearTime   = time.Second // of new write shards' partition keys
	refreshTime = time.Second // of a key's entry
)

func waitRandomly(ctx context.Context) bool { return dynamo.Pause(ctx, rand.N(growth.MaxWait)) }

// ObserveAttempt records an attempt, and raises the key's shard count if the evidence is then sufficient. The attempt's
// write waits for the change.
func (g *Grower) ObserveAttempt(ctx context.Context, a shard.Attempt) {
	traits := schema.TraitsOf(schema.Kind(a.Kind))
	partitions := g.o.Partitions(cmp.Or(a.Table, traits.Table))
	useful := growth.Bound(partitions)
	bound := min(useful, g.o.Max)
	switch answer := g.keys.Observe(a, bound, g.o.Clock()); {
	case answer == growth.Bounded && bound < useful:
		g.o.Logger.Warn("no more write shards are allowed: the key has the most that Max allows", "key", g.o.Shown(a.Key), "shards", a.Shards)
	case answer == growth.Bounded:
		g.o.Logger.Warn("more write shards do not help: the table's partitions are the limit",
			"key", g.o.Shown(a.Key), "shards", a.Shards, "partitions", partitions)
	case a.Pinned:
	case answer == growth.Refresh:
		// If the waiting hits of a limit refreshed the view, more of them would transfer quota at the same time.
		if !traits.DividesQuota && g.wait(ctx) {
			g.refresh(ctx, a.Key)
		}
	case answer == growth.Ask:
		g.keys.Asked(a.Key, g.refreshAndGrow(ctx, a, bound), g.o.Clock())
	}
}

// Hopeless reports whether a throttled attempt's key has been throttled for a while, and no growth is to be expected. A
// writer then returns ErrThrottled at once, and does not wait for capacity.
func (g *Grower) Hopeless(a shard.Attempt) bool {
	traits := schema.TraitsOf(schema.Kind(a.Kind))
	bound := min(growth.Bound(g.o.Partitions(cmp.Or(a.Table, traits.Table))), g.o.Max)
	waitsForLead := traits.Placement == schema.TimedPlacement && !a.New
	mayGrow := !a.Pinned && !g.o.Observe && a.Shards < bound && !waitsForLead
	return g.keys.Hopeless(a, mayGrow, g.o.Clock())
}

// refreshAndGrow reads the key's entry, and raises its count unless the entry is newer than the attempt's. It
// returns the version of the newest entry that it has read or made.
func (g *Grower) refreshAndGrow(ctx context.Context, a shard.Attempt, bound int) (version int64) {
	if !g.wait(ctx) {
		return a.Version
	}
	entry, ok := g.refresh(ctx, a.Key)
	switch {
	case !ok:
		return a.Version
	case entry.Version != a.Version || entry.Pinned || !g.keys.MayGrow(a, g.o.Clock()):
		return entry.Version
	}
	count := growth.Next(schema.TraitsOf(schema.Kind(a.Kind)), a.Shards, bound)
	if version, ok := g.checkUnused(ctx, a, entry, count); !ok {
		return version
	}
	return g.grow(ctx, entry, count, a)
}

// checkUnused returns whether the partition keys of new write shards have no items, and the version of the newest entry
// that it has read. If another process has raised the count meanwhile, the items may be its writes.
func (g *Grower) checkUnused(ctx context.Context, a shard.Attempt, seen shardmap.Entry, count int) (version int64, ok bool) {
	if a.Clear == nil || count <= seen.Most() {
		return seen.Version, true
	}
	limited, cancel := context.WithTimeout(ctx, clearTime)
	defer cancel()
	err := a.Clear(limited, seen.Most(), count)
	if err == nil {
		return seen.Version, true
	}
	if entry, read := g.refresh(ctx, seen.Key); read && entry.Version != seen.Version {
		return entry.Version, false
	}
	if occupied, ok := errors.AsType[*shard.KeyError](err); ok {
		g.o.Logger.Error("growth refused: items that the shard map does not know have the partition key of a new write shard",
			"key", g.o.Shown(seen.Key), "shards", count, "in_the_way", g.o.Shown(occupied.Key))
	} else {
		g.o.Logger.Error("not grown: the partition keys of new write shards were not read", "key", g.o.Shown(seen.Key), "shards", count, "error", err)
	}
	return seen.Version, false
}

// refresh reads the key's entry into the map's view, and returns the entry. If the read fails, the view is unchanged, and
// ok is false.
func (g *Grower) refresh(ctx context.Context, key string) (entry shardmap.Entry, ok bool) {
	limited, cancel := context.WithTimeout(ctx, refreshTime)
	defer cancel()
	entry, err := g.changer.Current(limited, key)
	if err != nil {
		g.o.Logger.Warn("shard count not read", "key", g.o.Shown(key), "error", err)
	}
	return entry, err == nil
}

// grow raises the count of an entry because of an attempt, and returns the version of the newest entry that it knows.
func (g *Grower) grow(ctx context.Context, seen shardmap.Entry, count int, a shard.Attempt) (version int64) {
	key, why := g.o.Shown(seen.Key), throttledOn(a.Shards)
	if g.o.Observe {
		g.o.Logger.Warn("would grow", "key", key, "shards", count, "why", why)
		return seen.Version
	}
	entry, err := g.changer.GrowFrom(ctx, seen, count, shardmap.Note{By: g.o.By, Why: why, Kind: a.Kind}, g.o.Clock())
	switch {
	case err == nil:
		g.o.Logger.Warn("grown", "key", key, "shards", count, "effective_at", entry.Effective(), "why", why)
	case errors.Is(err, shardmap.ErrNoChange), errors.Is(err, shardmap.ErrPinned): // another process was faster
	case errors.Is(err, shardmap.ErrFull):
		g.o.Logger.Error("not grown: the shard map is full", "key", key, "shards", count, "error", err)
		return seen.Version
	default:
		g.o.Logger.Error("not grown", "key", key, "shards", count, "error", err)
		return seen.Version
	}
	return entry.Version
}

// throttledOn returns the reason of a growth, for logs and the shard map's history.
func throttledOn(shards int) string {
	if shards == 1 {
		return "At least half its writes were throttled (1 shard)"
	}
	return fmt.Sprintf("At least half its writes were throttled (%d shards)", shards)
}
